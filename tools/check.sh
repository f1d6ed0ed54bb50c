#!/bin/sh
# What `make check` does before each commit: format, layers, headers that compile alone, clang-tidy's allow-list, quick tests.
set -eu
build=$1
cd "$(dirname "$0")/.."
failed=0
step() { echo "== $1"; }

step format
# Lines changed since ${TIDY_BASE:-HEAD}, not the whole tree.
if command -v git-clang-format >/dev/null; then
  difference=$(git clang-format --quiet --diff "${TIDY_BASE:-HEAD}" -- '*.h' '*.cc' || true)
  [ -z "$difference" ] || { echo "$difference" | head -40; failed=1; }
else
  echo "git-clang-format is not installed: skipped"
fi

step layers
python3 tools/check_layers.py || failed=1

step headers
tools/check_headers.sh "$build" || failed=1

step clang-tidy
if command -v clang-tidy >/dev/null; then
  changed=$(git diff --name-only --diff-filter=AM "${TIDY_BASE:-HEAD}" -- '*.cc'; git diff --name-only --diff-filter=AM HEAD~1 HEAD -- '*.cc' 2>/dev/null || true)
  [ -z "$changed" ] || echo "$changed" | sort -u | xargs clang-tidy -p "$build" --quiet || failed=1
else
  echo "clang-tidy is not installed: skipped"
fi

step "quick tests"
ctest --test-dir "$build" --output-on-failure -LE e2e -j "$(nproc)" || failed=1
exit $failed
