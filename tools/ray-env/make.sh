#!/bin/sh
# Makes the Python environments with the real Rays that tests, demo and benchmarks run against, outside of the
# clone. Does nothing for those that are there.
#
#   tools/ray-env/make.sh [VERSION …]        default: both versions that are tested
#
# They go to ${XDG_CACHE_HOME:-$HOME/.cache}/ostler/ray-VERSION.
set -eu

versions=${*:-"2.60.0 2.48.0"}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ostler
python=${PYTHON:-python3.11}

say() { printf 'ray-env: %s\n' "$*" >&2; }

# The stamp is written last and names what was installed, so a half-made environment is made again.
want() { printf 'ray[default]==%s setuptools<81' "$1"; } # Ray 2.48 imports pkg_resources, which later ones lack

make_one() {
    version=$1
    dir=$cache/ray-$version
    if [ "$(cat "$dir/.ostler-stamp" 2>/dev/null)" = "$(want "$version")" ]; then
        say "Ray $version is there: $dir"
        return
    fi
    if "$dir/bin/ray" --version 2>/dev/null | grep -q "version $version\$" && "$dir/bin/python" -c 'import aiohttp' 2>/dev/null; then
        say "Ray $version is there (checked): $dir"
        want "$version" >"$dir/.ostler-stamp"
        return
    fi
    say "Ray $version: making $dir (a download of about 100 MB; some minutes) …"
    rm -rf "$dir"
    "$python" -m venv "$dir"
    # shellcheck disable=SC2046 # two requirements, two words
    "$dir/bin/pip" install --quiet --disable-pip-version-check $(want "$version")
    want "$version" >"$dir/.ostler-stamp"
    say "Ray $version: done"
}

command -v "$python" >/dev/null || { say "$python is not there: install Python 3.11 or set PYTHON"; exit 1; }
mkdir -p "$cache"
# One at a time, also when two makes run at once.
exec 9>"$cache/ray-env.lock"
flock 9
for version in $versions; do make_one "$version"; done
