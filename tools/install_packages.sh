#!/bin/sh
# Installs the Debian packages of tools/packages.txt that are missing. Does nothing, and needs no root, if none is.
set -eu
cd "$(dirname "$0")"
wanted=$(grep -v '^#' packages.txt)
missing=""
for package in $wanted; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "Installing Debian packages:$missing"
run=""
[ "$(id -u)" = 0 ] || run="sudo"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
# shellcheck disable=SC2086
$run apt-get install -y -qq --no-install-recommends $missing >/dev/null
