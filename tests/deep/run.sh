#!/bin/sh
# Runs the randomised comparison with PyTorch: run.sh TONDAR ARGUMENTS... Makes .venv/deep once.
set -eu
tondar=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
wanted="$root/tests/deep/requirements.txt"
environment="$root/.venv/deep"
if ! cmp -s "$wanted" "$environment/installed.txt"; then
  echo "Making the Python environment 'deep'"
  rm -rf "$environment"
  python3 -m venv "$environment"
  "$environment/bin/pip" -q --disable-pip-version-check install -r "$wanted"
  cp "$wanted" "$environment/installed.txt"
fi
exec "$environment/bin/python" -W ignore "$root/tests/deep/compare_with_torch.py" --tondar "$tondar" "$@"
