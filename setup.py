"""Compile the kernels, plain C without Python, into one shared library for every Python version.

Everything else is in pyproject.toml. Needs GCC or Clang (on Windows Clang): $CC, or cc, gcc or
clang, in this order.
"""

from __future__ import annotations

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
IS_WINDOWS = sys.platform == "win32"

# The flags of each instruction set. Only x86-64 has several, since NEON is part of ARM's baseline.
BASELINE: dict[str, list[str]] = {"baseline": []}
X86 = {
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma"],
}
# The values of ALGEBRA (native/algebra.h) for which kernels.c is compiled, in each instruction set.
ALGEBRAS = ("BEST_FLOAT", "BEST_DOUBLE", "SUMS")


def find_compiler() -> list[str]:
    """Return the command of a C compiler."""
    from_environment = shlex.split(os.environ.get("CC", ""))
    for command in [from_environment] if from_environment else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return command
    hint = "apt-get install gcc, or xcode-select --install"
    if IS_WINDOWS:
        hint = "https://releases.llvm.org"
    raise CompileError(
        f"arcspan's search is written in C, and no compiler is found ({hint}); or set CC"
    )


def compiler_options() -> list[str]:
    """Return the options that are common to all files."""
    options = ["-std=c11", "-O3", "-fvisibility=hidden"]
    # Sums may fuse multiplications with additions, and need not set errno. No other fast-math
    # option: the searches rely on -inf.
    options += ["-ffp-contract=fast", "-fno-math-errno"]
    # GCC notes that wide vectors as arguments differ between versions; none of them leaves the
    # library.
    options.append("-Wno-psabi")
    if not IS_WINDOWS:
        options.append("-fPIC")
    return options + shlex.split(os.environ.get("CFLAGS", ""))


def variants(compiler: list[str]) -> dict[str, list[str]]:
    """Return the flags of each instruction set that the library holds, by its name."""
    # The machine that is compiled for, which ARCHFLAGS may change.
    dumped = subprocess.run([*compiler, "-dumpmachine"], capture_output=True, text=True)
    if dumped.stdout.startswith(("x86_64", "amd64")):
        return BASELINE | X86
    return BASELINE


def is_up_to_date(target: Path, sources: list[Path]) -> bool:
    """Return whether the library is newer than all of its sources."""
    if not target.exists():
        return False
    built = target.stat().st_mtime
    return all(source.stat().st_mtime < built for source in sources)


class BuildKernels(build_ext):
    """Call the compiler directly: setuptools would link to Python and name the file after its
    version.
    """

    def get_ext_filename(self, name: str) -> str:
        """Return the file's name without Python's version."""
        return name.replace(".", os.sep) + (".dll" if IS_WINDOWS else ".so")

    def build_extension(self, extension: Extension) -> None:
        """Compile every variant and link them, unless the library is up to date."""
        target = Path(self.get_ext_fullpath(extension.name))
        sources = [Path(path) for path in [*extension.sources, *extension.depends]]
        if not self.force and is_up_to_date(target, [Path(__file__), *sources]):
            return
        folder = Path(self.build_temp)
        folder.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = find_compiler() + shlex.split(os.environ.get("ARCHFLAGS", ""))
        command = compiler + compiler_options()

        # Object files by name: the source and the flags of each.
        units = {"batch": ("batch.c", []), "dispatch": ("dispatch.c", [])}
        for variant, instructions in variants(compiler).items():
            for algebra in ALGEBRAS:
                flags = [f"-DVARIANT={variant}", f"-DALGEBRA={algebra}", *instructions]
                units[f"{algebra}_{variant}"] = ("kernels.c", flags)

        objects = []
        for name, (source, flags) in units.items():
            output = str(folder / f"{name}.o")
            self.spawn([*command, *flags, "-c", str(NATIVE / source), "-o", output])
            objects.append(output)
        libraries = [] if IS_WINDOWS else ["-lm", "-pthread"]
        linker_flags = shlex.split(os.environ.get("LDFLAGS", ""))
        self.spawn([*compiler, "-shared", *linker_flags, *objects, "-o", str(target), *libraries])


class Wheel(bdist_wheel):
    """A wheel for one platform, and every Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag: any Python 3, no ABI, this platform."""
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
