#!/bin/sh
# Builds the control plane for tests (see main.go) outside of the clone, and prints where it is. Does nothing if it
# is there. The first time takes 5 to 10 minutes on two cores, 610 MB of downloads and 4 GB of Go's build cache.
#
#   tools/kube-lab/build.sh [--where]        --where: only print the place, built or not
#
# It goes to ${XDG_CACHE_HOME:-$HOME/.cache}/ostler/kube-lab-VERSION-HASH, where HASH is of what it is made from.
set -eu
cd "$(dirname "$0")"

say() { printf 'kube-lab: %s\n' "$*" >&2; }

version=$(awk '$1 == "k8s.io/kubernetes" && $2 != "=>" { print $2; exit }' go.mod)
hash=$(cat go.mod main.go | sha256sum | cut -c1-12)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ostler
program=$cache/kube-lab-$version-$hash
printf '%s\n' "$program"
if [ "${1-}" = --where ] || [ -x "$program" ]; then exit 0; fi

command -v go >/dev/null || { say "go is not there: install Go 1.26 or newer"; exit 1; }
mkdir -p "$cache"
# One at a time, also when two makes run at once.
exec 9>"$cache/kube-lab.lock"
flock 9
if [ -x "$program" ]; then exit 0; fi

say "getting the sources of Kubernetes $version …"
go mod download
# Clients ask a server for its version and behave accordingly; without these stamps it would be v0.0.0.
major=${version#v} minor=${version#v*.}
major=${major%%.*} minor=${minor%%.*}
stamps=
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    stamps="$stamps -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
    stamps="$stamps -X $package.gitTreeState=clean"
done
say "compiling at most $(go list -deps . | wc -l) packages (5 to 10 minutes the first time) …"
# A line for each 100 packages; the compiler's own complaints as they are.
{
    go build -v -trimpath -ldflags "-s -w$stamps" -o "$program.part" . 2>&1 || echo "kube-lab: go build failed"
} | awk '
    /^[a-z0-9.-]+(\/[A-Za-z0-9._~-]+)*$/ { if (++n % 100 == 0) { print "kube-lab: " n " packages compiled"; fflush() } next }
    { print; fflush() }
    /^kube-lab: go build failed/ { failed = 1 }
    END { exit failed }' >&2
mv "$program.part" "$program"
say "done: $program"
