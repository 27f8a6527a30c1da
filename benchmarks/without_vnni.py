"""A copy of the installed onnxruntime that does not use VNNI, to measure and to compare what older
processors would do.

    python benchmarks/without_vnni.py /tmp/no-vnni
    PYTHONPATH=/tmp/no-vnni python benchmarks/throughput.py ...

onnxruntime has no switch for it. The copy's machine code (x86-64, Linux) is changed where it asks
the processor for its features: leaf 7 of CPUID answers nothing in ECX, where AVX512-VNNI stands,
and no AVX-VNNI. Everything else stays, so 8-bit products take the road that saturates in 16 bits,
as on every processor with AVX2 or AVX-512 but without VNNI.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
from pathlib import Path

# mov eax, 7; cpuid; mov r8d or r9d, edx; mov esi or edi, ecx: the last becomes xor esi, esi or xor
# edi, edi.
_LEAF = re.compile(rb"\xb8\x07\0\0\0\x0f\xa2\x41\x89[\xd0\xd1]\x89(?P<to>[\xce\xcf])")
_NOTHING = {b"\xce": b"\x31\xf6", b"\xcf": b"\x31\xff"}
# mov eax, 7; mov ecx, 1; cpuid; test al, 16: the last becomes test al, 0.
_SECOND_LEAF = re.compile(rb"\xb8\x07\0\0\0\xb9\x01\0\0\0\x0f\xa2\xa8\x10")


def without_vnni(code: bytes) -> tuple[bytes, int]:
    """The library's bytes, changed, and at how many places."""
    code, first = _LEAF.subn(lambda match: match[0][:-2] + _NOTHING[match["to"]], code)
    code, second = _SECOND_LEAF.subn(lambda match: match[0][:-1] + b"\0", code)
    return code, first if first == second else 0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("target", type=Path, help="a new folder for the copy")
    arguments = options.parse_args()
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or spec.origin is None:
        raise SystemExit("onnxruntime is not installed")
    copy = arguments.target / "onnxruntime"
    shutil.copytree(Path(spec.origin).parent, copy)
    (library,) = copy.glob("capi/onnxruntime_pybind11_state*.so")
    code, changes = without_vnni(library.read_bytes())
    if not changes:
        raise SystemExit(
            "this build of onnxruntime asks for features in another way: nothing was changed"
        )
    library.write_bytes(code)
    print(f"{copy}: VNNI is not seen at {changes} places")


if __name__ == "__main__":
    main()
