"""Compiles the kernels, plain C that knows nothing of Python, into one shared library that serves every Python version.

Everything else is in pyproject.toml. Needs GCC or Clang (on Windows Clang): $CC, or cc, gcc or clang, in this order.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

NATIVE = Path("src/arcspan/decoding/native")
# Instruction sets beside the baseline: of x86-64 only, since NEON is part of ARM's baseline.
X86 = {
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma"],
}
# What the kernels are compiled for, in each of them: native/algebra.h.
ALGEBRAS = ("BEST_FLOAT", "BEST_DOUBLE", "SUMS")


def compiler() -> list[str]:
    """The command of a C compiler."""
    wanted = shlex.split(os.environ.get("CC", ""))
    for name in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(name[0]):
            return name
    hint = (
        "https://releases.llvm.org"
        if sys.platform == "win32"
        else "apt-get install gcc, or xcode-select --install"
    )
    raise CompileError(
        f"arcspan's search is written in C, and no compiler is found ({hint}); or set CC"
    )


class BuildKernels(build_ext):
    """Calls the compiler by itself: setuptools would link to Python and name the file after its version."""

    def get_ext_filename(self, name: str) -> str:
        """The name without Python's version."""
        return name.replace(".", os.sep) + (".dll" if sys.platform == "win32" else ".so")

    def build_extension(self, extension: Extension) -> None:
        """Compile every variant and link them, unless that is done."""
        target, work = Path(self.get_ext_fullpath(extension.name)), Path(self.build_temp)
        sources = [Path(__file__), *map(Path, [*extension.sources, *extension.depends])]
        if (
            not self.force
            and target.exists()
            and all(path.stat().st_mtime < target.stat().st_mtime for path in sources)
        ):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir(parents=True, exist_ok=True)
        flags = shlex.split(os.environ.get("ARCHFLAGS", ""))
        command = [*compiler(), *flags]
        machine = subprocess.run([*command, "-dumpmachine"], capture_output=True, text=True).stdout
        variants = {"baseline": [], **(X86 if machine.startswith(("x86_64", "amd64")) else {})}
        options = [
            "-std=c11",
            "-O3",
            "-ffp-contract=fast",
            "-fno-math-errno",
            "-fvisibility=hidden",
            "-Wno-psabi",
        ]
        options += [] if sys.platform == "win32" else ["-fPIC"]
        options += shlex.split(os.environ.get("CFLAGS", ""))
        objects = []

        def compile(source: str, name: str, *more: str) -> None:
            objects.append(str(work / f"{name}.o"))
            self.spawn([*command, *options, *more, "-c", str(NATIVE / source), "-o", objects[-1]])

        compile("batch.c", "batch")
        compile("dispatch.c", "dispatch")
        for (name, more), algebra in itertools.product(variants.items(), ALGEBRAS):
            compile(
                "kernels.c", f"{algebra}_{name}", f"-DVARIANT={name}", f"-DALGEBRA={algebra}", *more
            )
        libraries = [] if sys.platform == "win32" else ["-lm", "-pthread"]
        linking = shlex.split(os.environ.get("LDFLAGS", ""))
        self.spawn([*command, "-shared", *linking, *objects, "-o", str(target), *libraries])


class Wheel(bdist_wheel):
    """For one platform, and every Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Any Python 3, no ABI, this platform."""
        return "py3", "none", super().get_tag()[2]


setup(
    ext_modules=[
        Extension(
            "arcspan.decoding.native.kernels",
            [str(path) for path in sorted(NATIVE.glob("*.c"))],
            depends=[str(path) for path in sorted(NATIVE.glob("*.h"))],
        )
    ],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": Wheel},
)
