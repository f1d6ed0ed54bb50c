#!/bin/sh
# Builds and runs the unit tests under one sanitizer: sanitize.sh asan|ubsan|tsan
set -eu
preset=$1
cd "$(dirname "$0")/.."
cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" -j "$(nproc)"
ctest --test-dir "build/$preset" --output-on-failure -LE e2e -j "$(nproc)"
