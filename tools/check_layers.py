#!/usr/bin/env python3
"""Checks that every include keeps to LAYERS, and that components do not include each other in a ring.

    tools/check_layers.py            exit 0 if all is well, 1 with one line per offence

A component is a header with its source of the same stem. Tests may also include any room's testing/ folder.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# Third-party headers and the folders that may see them.
THIRD_PARTY = [
    (r"^(google/protobuf|grpc|grpcpp)/|\.pb\.h$", "engine/importers/onnx engine/compiler server/config server/grpc server/client cli"),
    (r"^nlohmann/", "engine/importers/pt2 server/http server/config server/steps server/client cli"),
    (r"^simdjson", "server/http server/client cli"),
    (r"^prometheus/", "server/metrics"),
    (r"^boost/", "server/http server/client cli"),
    (r"^CLI/", "cli"),
    (r"^(cuda|nvrtc|cublas|cudnn|cusolver)", "engine/accelerators/cuda"),
    (r"^CL/", "engine/accelerators/xpu"),
]


def read_layers():
    layers = {}
    for line in (ROOT / "LAYERS").read_text().splitlines():
        folder, _, allowed = line.split("#")[0].strip().partition(":")
        if folder:
            layers[folder] = allowed.split()
    return layers


def room_of(path, layers):
    """The deepest folder of LAYERS that holds the path; None outside of all."""
    return next((str(folder) for folder in path.parents if str(folder) in layers), None)


def is_test(path):
    return path.stem.endswith(("_test", "_benchmark")) or "testing" in path.parts


def third_party_offence(room, header, test):
    for pattern, rooms in THIRD_PARTY:
        if re.search(pattern, header) and not test and not any(room == r or room.startswith(r + "/") for r in rooms.split()):
            return f"{room} may not include {header}; only these may: {rooms}"
    return None


def own_offence(room, header, test, layers):
    target = pathlib.PurePath(header)
    other, allowed = room_of(target, layers), layers[room]
    if other in (room, None) or allowed == ["*"] or other in allowed or (test and "testing" in target.parts):
        return None
    return f"{room} may not include {header}; allowed: {' '.join(allowed) or 'nothing'}"


def check_file(path, layers, edges):
    room, test = room_of(path, layers), is_test(path)
    if room is None:
        return [f"{path}: its folder is not in LAYERS"]
    offences = []
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match.group(2)
        found = third_party_offence(room, header, test)
        if (ROOT / header).exists():
            found = found or own_offence(room, header, test, layers)
            if not test:
                edges.setdefault(str(path.with_suffix("")), set()).add(str(pathlib.PurePath(header).with_suffix("")))
        if found:
            offences.append(f"{path}:{number}: {found}")
    return offences


def rings(edges):
    """Components that reach themselves, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges.get(node, ())):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            ring = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(ring) > 1:
                found.append("include ring: " + " <-> ".join(sorted(ring)))

    sys.setrecursionlimit(10000)
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def main():
    layers, edges, offences = read_layers(), {}, []
    for top in ("engine", "server", "cli"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".h", ".cc"):
                offences += check_file(path.relative_to(ROOT), layers, edges)
    offences += rings(edges)
    print(*offences, sep="\n", end="\n" if offences else "")
    print(f"check_layers: {len(offences)} offences in {len(edges)} components")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
