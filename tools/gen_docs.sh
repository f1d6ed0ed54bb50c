#!/bin/sh
# Writes the generated pages, docs/options.md and docs/metrics.md, from the tables in the code: gen_docs.sh TONDAR
set -eu
cd "$(dirname "$0")/.."
"$1" serve --print-options-doc >docs/options.md
"$1" serve --print-metrics-doc >docs/metrics.md
