#!/bin/sh
# Makes .venv/NAME with the Python packages of tests/e2e/requirements-NAME.txt, once. Clients only: serving needs no Python.
set -eu
name=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
wanted="$root/tests/e2e/requirements-$name.txt"
stamp="$root/.venv/$name/installed.txt"
cmp -s "$wanted" "$stamp" && exit 0
echo "Making the Python environment '$name'"
rm -rf "$root/.venv/$name"
python3 -m venv "$root/.venv/$name"
"$root/.venv/$name/bin/pip" -q --disable-pip-version-check install -r "$wanted"
cp "$wanted" "$stamp"
