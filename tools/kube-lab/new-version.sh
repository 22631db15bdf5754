#!/bin/sh
# Writes go.mod and go.sum for a version of Kubernetes:   tools/kube-lab/new-version.sh v1.37.2
#
# Kubernetes keeps its libraries beside itself and asks for them at v0.0.0; here each of these is replaced by the
# release of the same number (v0.37.2 for v1.37.2).
set -eu
version=${1:?give a version of Kubernetes, like v1.37.2}
library=v0.${version#v1.}
cd "$(dirname "$0")"

theirs=$(cd / && go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",*$/\1/p')
{
    printf '// Written by new-version.sh and `go mod tidy`.\nmodule ostler.dev/kube-lab\n\n'
    grep -E '^go [0-9]' "$theirs"
    grep -E '^godebug default=' "$theirs" || :
    printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$version"
    awk -v v="$library" '$1 ~ /^k8s\.io\// && $2 == "v0.0.0" { printf "\t%s => %s %s\n", $1, $1, v }' "$theirs" | sort -u
    printf ')\n'
} >go.mod
go mod tidy
