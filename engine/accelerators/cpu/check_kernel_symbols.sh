#!/bin/sh
# Usage: check_kernel_symbols.sh OBJECT...
# Fails if an object compiled for one instruction set defines anything but its tables: weak symbols and functions with
# external linkage could be chosen by the linker for code that runs on every machine.
status=0
checked=0
for object in "$@"; do
  case "$object" in
    *_baseline.cc.o | *_avx2.cc.o | *_avx512.cc.o | *_avx512_vnni.cc.o | *_avx512_bf16.cc.o) ;;
    *) continue ;;
  esac
  checked=$((checked + 1))
  # A capital letter is external; R and D are data, V, W and u weak or unique, T functions.
  if bad=$(nm -C --defined-only "$object" | grep -E '^[0-9a-f]+ [TWVuBi] '); then
    echo "$object defines:"
    echo "$bad"
    status=1
  fi
done
echo "checked $checked kernel objects"
[ "$checked" -gt 0 ] || exit 1
exit $status
