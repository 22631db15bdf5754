#!/bin/bash
# gomod.sh VERSION FILE: writes a go.mod for one version of Kubernetes, whose staging modules need a `replace` each.
# Afterwards: go mod tidy -modfile=FILE
set -euo pipefail
version=${1:?a version, as v1.37.2} file=${2:?a file, as go.mod}
cd "$(dirname "${BASH_SOURCE[0]}")"
staging=v0.${version#v1.}
theirs=$(cd / && go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
modules=$(awk '$1 ~ /^k8s\.io\// && $2 == "v0.0.0" { print $1 }' "$theirs")
{
	printf 'module ostler.dev/kube-oracle\n\n'
	grep '^go ' "$theirs"
	grep '^godebug ' "$theirs" || true
	printf '\nrequire (\n\tk8s.io/kubernetes %s\n' "$version"
	for module in $modules; do printf '\t%s %s\n' "$module" "$staging"; done
	printf ')\n\nreplace (\n'
	for module in $modules; do printf '\t%s => %s %s\n' "$module" "$module" "$staging"; done
	printf ')\n'
} >"$file"
