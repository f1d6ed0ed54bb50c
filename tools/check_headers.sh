#!/bin/sh
# Compiles every header alone: a header must bring what it needs. check_headers.sh BUILD
set -eu
build=$1
git ls-files 'engine/**.h' 'server/**.h' 'cli/*.h' | grep -v '/kernels/\|_kernel\.h$\|simd' |
  xargs -P "$(nproc)" -n 8 sh -c 'for h; do
    printf "#include \"%s\"\n" "$h" |
      ${CXX:-c++} -std=c++20 -fsyntax-only -Wno-psabi -I. -I'"$build"'/generated -I'"$build"'/generated/proto -x c++ - || { echo "$h does not compile alone"; exit 1; }
  done' check
echo "every header compiles alone"
