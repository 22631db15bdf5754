#!/bin/sh
# Builds Helm outside of the clone, for the test of the chart, and prints where it is. Does nothing if it is there. Its
# libraries of Kubernetes are those of tools/kube-lab, so that little is compiled where that has been built.
#
#   tools/helm/build.sh [--where]        --where: only print the place, built or not
set -eu
cd "$(dirname "$0")"

version=$(awk '$1 == "helm.sh/helm/v3" { print $2; exit }' go.mod)
hash=$(cat go.mod build.sh | sha256sum | cut -c1-12)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ostler
program=$cache/helm-$version-$hash
printf '%s\n' "$program"
if [ "${1-}" = --where ] || [ -x "$program" ]; then exit 0; fi

command -v go >/dev/null || { printf 'helm: go is not there: install Go 1.26 or newer\n' >&2; exit 1; }
mkdir -p "$cache"
# One at a time, also when two makes run at once.
exec 9>"$cache/helm.lock"
flock 9
if [ -x "$program" ]; then exit 0; fi
go mod download
# Without these stamps it takes the cluster for one of Kubernetes 1.20.
minor=$(awk '$1 == "k8s.io/client-go" { split($2, part, "."); print part[2]; exit }' go.mod)
stamps=
for package in chartutil lint/rules; do
    stamps="$stamps -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=$minor"
done
go build -trimpath -ldflags "-s -w$stamps" -o "$program.part" helm.sh/helm/v3/cmd/helm
mv "$program.part" "$program"
