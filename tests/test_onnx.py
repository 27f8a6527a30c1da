"""A parse asks nobody and writes nothing outside arcspan's own cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PARSE = "import arcspan, sys; print(arcspan.load(sys.argv[1])('Logic plays a role.')[0].heads)"
OWN_CACHE = Path(".cache/arcspan")


def environment(home: Path, **values: str) -> dict[str, str]:
    """This one with an empty home folder, where nothing says that telemetry is off."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ORT_", "XDG_", "ARCSPAN_"))
    }
    return {**inherited, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", **values}


def run_parse(bundle: Path, home: Path, command: list[str], **values: str) -> str:
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [*command, sys.executable, "-c", PARSE, str(bundle)],
        env=environment(home, **values),
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_parse_leaves_the_home_folder_empty_but_for_its_own_cache(
    toy_bundle: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    run_parse(toy_bundle, home, [])
    written = {path.relative_to(home) for path in home.rglob("*") if path.is_file()}
    assert [path for path in written if not path.is_relative_to(OWN_CACHE)] == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_parse_opens_no_connection_and_writes_no_other_file(
    toy_bundle: Path, tmp_path: Path
) -> None:
    home, log = tmp_path / "home", tmp_path / "calls"
    strace = [
        "strace",
        "-f",
        "-qq",
        "-o",
        str(log),
        "-e",
        "trace=connect,sendto,sendmsg,openat,mkdir,unlink",
    ]
    run_parse(toy_bundle, home, strace)
    calls = log.read_text(errors="replace").splitlines()
    assert any("openat" in call for call in calls)  # strace has seen something
    network = [call for call in calls if re.search(r"AF_INET|\b(sendto|sendmsg)\(", call)]
    changes = [
        call for call in calls if re.search(r"O_WRONLY|O_RDWR|O_CREAT|\b(mkdir|unlink)\(", call)
    ]
    allowed = re.compile(r'"/(dev|proc)/|"[^"]*/\.cache/arcspan|/__pycache__"|= -1 ')
    assert network == []
    assert [call for call in changes if not allowed.search(call)] == []


def test_telemetry_is_off_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    code = (
        "import os; from arcspan.onnx import import_onnxruntime; import_onnxruntime(); "
        "print(os.environ['ORT_DISABLE_TELEMETRY'])"
    )
    for variables, expected in (({}, "1"), ({"ORT_DISABLE_TELEMETRY": "0"}, "0")):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(tmp_path, **variables),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


def test_nothing_else_in_the_package_imports_onnxruntime() -> None:
    source = Path(__file__).resolve().parents[1] / "src" / "arcspan"
    importers = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(
            r"^\s*(import onnxruntime|from onnxruntime)",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert importers == {"onnx.py"}


def test_a_sub_interpreter_is_refused() -> None:
    """Loading a model there waited for ever."""
    inner = (
        "from arcspan.errors import ArcspanError\n"
        "from arcspan.onnx import import_onnxruntime\n"
        "try:\n"
        "    import_onnxruntime()\n"
        "except ArcspanError as error:\n"
        "    print(error, flush=True)\n"
    )
    code = (
        "import sys\n"
        "new = sys.version_info >= (3, 13)\n"
        "interpreters = __import__('_interpreters' if new else '_xxsubinterpreters')\n"
        f"interpreters.run_string(interpreters.create(), {inner!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("arcspan cannot run in a sub-interpreter")
