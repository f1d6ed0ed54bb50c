#!/bin/sh
# Runs the end-to-end tests of one Python environment against a binary: run.sh ENVIRONMENT TONDAR PYTEST-ARGUMENTS...
set -eu
environment=$1
TONDAR=$2
export TONDAR
shift 2
here=$(cd "$(dirname "$0")" && pwd)
"$here/venv.sh" "$environment"
cd "$here"
exec "../../.venv/$environment/bin/python" -m pytest -q -x --no-header -p no:cacheprovider "$@"
