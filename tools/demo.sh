#!/bin/sh
# Serves the bundled models, sends handwritten digits, prints what came back: demo.sh TONDAR
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
exec "$root/.venv/demo/bin/python" "$root/tools/demo.py" "$1"
