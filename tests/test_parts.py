"""Parts from other packages: by entry point, or by module and name."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcspan.errors import ConfigError
from arcspan.parts import find_part, names


def install(folder: Path, kind: str, name: str, value: str) -> None:
    """A distribution in a folder that has one entry point."""
    info = folder / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[arcspan.{kind}]\n{name} = {value}\n")


def test_an_entry_point_and_a_module_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some_parts.py").write_text("class Arcs:\n    pass\n")
    install(tmp_path, "scorers", "arcs", "some_parts:Arcs")
    monkeypatch.syspath_prepend(tmp_path)
    found = find_part("scorers", "arcs")
    assert found.__name__ == "Arcs" and found is find_part(
        "scorers", "some_parts:Arcs", trusted=["some_parts:Arcs"]
    )
    assert names("scorers") == ["arcs"] and names("losses") == []


@pytest.mark.parametrize(
    ("name", "is_trusted", "message"),
    [
        (
            "arcs",
            False,
            r"no installed package has an entry point 'arcs' of arcspan\.scorers \(known: none\)",
        ),
        ("collections:OrderedDict", False, "may come from somebody else"),
        ("collections:Nothing", True, "cannot be imported"),
        ("no_such_module:Arcs", True, "cannot be imported"),
    ],
)
def test_what_is_not_there_is_named(name: str, is_trusted: bool, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_part("scorers", name, trusted=[name] if is_trusted else [])
