#!/bin/sh
# Makes the Python environment with another language's gRPC tools and an HTTP fuzzer, outside of the clone. Does
# nothing if it is there. It goes to ${XDG_CACHE_HOME:-$HOME/.cache}/ostler/polars-env.
set -eu

want='grpcio grpcio-tools grpcio-reflection grpcio-health-checking schemathesis'
dir=${XDG_CACHE_HOME:-$HOME/.cache}/ostler/polars-env

if [ "$(cat "$dir/.ostler-stamp" 2>/dev/null)" = "$want" ]; then
    exit 0
fi
printf 'polars-env: making %s …\n' "$dir" >&2
rm -rf "$dir"
"${PYTHON:-python3}" -m venv "$dir"
# shellcheck disable=SC2086 # several requirements, several words
"$dir/bin/pip" install --quiet --disable-pip-version-check $want
printf '%s' "$want" >"$dir/.ostler-stamp"
