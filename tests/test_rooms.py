"""The direction of imports between the rooms of the house, read from the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "arcspan"

ALLOWED: dict[str, set[str]] = {
    "trees": set(),
    "decoding": set(),
    "syntax": {"trees"},
    "distributions": {"decoding"},
    "treebanks": {"trees"},
    "evaluation": {"trees", "treebanks"},
    "segmenting": set(),
    "prediction": {"trees", "decoding"},
    "runtime": {"trees", "decoding", "prediction"},
    "rendering": {"trees"},
    "parse": {
        "trees",
        "syntax",
        "treebanks",
        "decoding",
        "prediction",
        "segmenting",
        "runtime",
        "rendering",
    },
    "parser": {
        "trees",
        "syntax",
        "treebanks",
        "decoding",
        "prediction",
        "segmenting",
        "runtime",
        "rendering",
        "parse",
    },
    "neural": {"trees", "decoding", "distributions", "prediction"},
    "training": {
        *(
            "trees",
            "treebanks",
            "evaluation",
            "decoding",
            "prediction",
            "segmenting",
            "neural",
            "runtime",
        )
    },
    "integrations": {"trees", "syntax", "treebanks", "rendering", "parser", "parse"},
    "formats": {"trees", "treebanks", "rendering", "parser", "parse", "integrations"},
    "serving": {"trees", "syntax", "treebanks", "rendering", "parser", "parse", "formats"},
}
# What every room stands on: no room of its own.
FOUNDATION = {"errors", "files", "lazy", "onnx", "parts", "settings", "_version"}
# torch and transformers live in these places and nowhere else.
TORCH_PLACES = ("neural/", "training/", "distributions/", "decoding/batched.py")


def imports(path: Path) -> set[str]:
    """Every module that a file imports, inside functions too; `from arcspan import x` counts as arcspan.x."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            found |= (
                {f"arcspan.{alias.name}" for alias in node.names}
                if module == "arcspan"
                else {module}
            )
    return found


def room_files() -> list[tuple[str, Path]]:
    found = []
    for room in ALLOWED:
        module = SOURCE / f"{room}.py"
        found += [
            (room, path)
            for path in ([module] if module.exists() else sorted((SOURCE / room).rglob("*.py")))
        ]
    return found


@pytest.mark.parametrize(
    ("room", "path"), room_files(), ids=lambda value: str(value).rpartition("arcspan/")[2]
)
def test_a_room_imports_only_the_rooms_it_may_know(room: str, path: Path) -> None:
    known = {module.split(".")[1] for module in imports(path) if module.startswith("arcspan.")}
    assert known <= ALLOWED[room] | {room} | FOUNDATION


def test_torch_is_imported_only_where_training_is() -> None:
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(TORCH_PLACES):
            heavy = {module.split(".")[0] for module in imports(path)} & {
                "torch",
                "transformers",
                "accelerate",
            }
            assert not heavy, f"{place} imports {heavy}"


def test_the_picture_of_the_rooms_shows_what_they_may_import() -> None:
    """Every arrow is allowed, and what is allowed can be reached by arrows; `parser` and `parse` are one box."""
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    arrows: dict[str, set[str]] = {room: set() for room in ALLOWED if room != "parse"}
    for room, others in re.findall(r"^  (\w+)(?:\[.*\])? --> (.*)$", page, re.MULTILINE):
        arrows[room] = set(others.split(" & "))
    assert set(arrows) == {*ALLOWED, "cli"} - {"parse"}
    for room, allowed in ALLOWED.items():
        box = "parser" if room == "parse" else room
        reached, more = set(), arrows[box]
        while more:
            reached |= more
            more = set().union(*(arrows[other] for other in more)) - reached
        assert arrows[box] <= allowed
        assert allowed - {"parse"} <= reached


def test_the_two_walks_have_at_most_seven_steps_and_name_files_that_exist() -> None:
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = page.split("\n## ")[1:]
    assert [walk.splitlines()[0] for walk in walks] == [
        "From a sentence to the drawn trees",
        "From a treebank file to the loss",
    ]
    for walk in walks:
        steps = re.findall(r"^(\d)\. ", walk, re.MULTILINE)
        assert steps == [str(number) for number in range(1, len(steps) + 1)] and 1 < len(steps) <= 7
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", walk):
            assert (SOURCE / name).exists(), name
