#!/usr/bin/env python3
"""Prints the core ATen operators of the installed torch, for tests/golden/core_aten.txt: list_core_aten.py > FILE."""
import torch

print(f"# The core ATen operators of torch {torch.__version__.split('+')[0]}: those with torch.Tag.core. tools/golden/list_core_aten.py writes this.")
for name in sorted(torch._C._dispatch_get_all_op_names()):
    space, _, rest = name.partition("::")
    stem, _, overload = rest.partition(".")
    packet = getattr(torch.ops.aten, stem, None) if space == "aten" else None
    if packet is None or (overload or "default") not in packet.overloads():
        continue
    if torch.Tag.core in getattr(packet, overload or "default").tags:
        print(f"aten.{stem}.{overload or 'default'}")
