#!/bin/sh
# Size and shape of the tree, as a trend to look at and not a gate.
set -eu
cd "$(dirname "$0")/.."
printf '%-28s %6s %8s %8s %8s\n' folder files lines tests 'max file'
for folder in engine/* server/* cli; do
  [ -d "$folder" ] || continue
  code=$(git ls-files "$folder/*.cc" "$folder/*.h" | grep -v '_test\.cc$' || true)
  tests=$(git ls-files "$folder/*_test.cc" || true)
  [ -n "$code" ] || continue
  lines=$(echo "$code" | xargs cat | wc -l)
  test_lines=$([ -z "$tests" ] && echo 0 || echo "$tests" | xargs cat | wc -l)
  longest=$(echo "$code" | xargs wc -l | awk '$2 != "total" && $1 > m {m = $1} END {print m}')
  printf '%-28s %6d %8d %8d %8d\n' "$folder" "$(echo "$code" | wc -l)" "$lines" "$test_lines" "$longest"
done
