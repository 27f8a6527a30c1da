"""The direction of imports between subpackages and modules, read from the source."""

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
# Modules that all subpackages may import.
FOUNDATION = {"errors", "files", "lazy", "onnx", "parts", "settings", "_version"}
# torch and transformers are imported here and nowhere else.
TORCH_PATHS = ("neural/", "training/", "distributions/", "decoding/batched.py")


def imports(path: Path) -> set[str]:
    """Return every module that a file imports, inside functions and for type checking, too.

    `from a import b` counts as a.b, which is a module or an attribute of the module a.
    """
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return modules


def subpackage_files() -> list[tuple[str, Path]]:
    files = []
    for subpackage in ALLOWED:
        module = SOURCE / f"{subpackage}.py"
        files += [
            (subpackage, path)
            for path in (
                [module] if module.exists() else sorted((SOURCE / subpackage).rglob("*.py"))
            )
        ]
    return files


@pytest.mark.parametrize(
    ("subpackage", "path"),
    subpackage_files(),
    ids=lambda value: str(value).rpartition("arcspan/")[2],
)
def test_a_subpackage_imports_only_those_that_it_may(subpackage: str, path: Path) -> None:
    imported = {module.split(".")[1] for module in imports(path) if module.startswith("arcspan.")}
    assert imported <= ALLOWED[subpackage] | {subpackage} | FOUNDATION


def import_graph() -> dict[str, set[str]]:
    """Return for each module of the package those that it imports."""
    paths = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("arcspan", *path.relative_to(SOURCE).with_suffix("").parts)
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for module, path in paths.items():
        # An attribute's module is imported; so is the package of a module, but no cycle is harmful
        # there.
        names = imports(path)
        imported = names & paths.keys()
        imported |= {name.rpartition(".")[0] for name in names - paths.keys()} & paths.keys()
        graph[module] = imported - {module}
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return modules each of which imports the next, and the last the first; [] if there are none."""
    finished: set[str] = set()
    path: list[str] = []

    def visit(module: str) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module not in finished:
            path.append(module)
            for imported in sorted(graph[module]):
                if cycle := visit(imported):
                    return cycle
            finished.add(path.pop())
        return []

    for module in sorted(graph):
        if cycle := visit(module):
            return cycle
    return []


def test_cycles_are_detected() -> None:
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": {"a", "e"}, "e": {"f"}, "f": {"d"}}
    assert sorted(find_cycle(graph)) == ["d", "e", "f"]
    assert find_cycle({**graph, "f": set()}) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports inside functions and for type checking count."""
    assert find_cycle(import_graph()) == []


def test_torch_is_imported_only_where_training_is() -> None:
    for path in SOURCE.rglob("*.py"):
        module_path = path.relative_to(SOURCE).as_posix()
        if not module_path.startswith(TORCH_PATHS):
            heavy = {module.split(".")[0] for module in imports(path)} & {
                "torch",
                "transformers",
                "accelerate",
            }
            assert not heavy, f"{module_path} imports {heavy}"


def test_the_diagram_shows_what_subpackages_may_import() -> None:
    """Every arrow is allowed, and what is allowed can be reached by arrows; `parser` and `parse`
    are one box.
    """
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    arrows: dict[str, set[str]] = {
        subpackage: set() for subpackage in ALLOWED if subpackage != "parse"
    }
    for subpackage, others in re.findall(r"^  (\w+)(?:\[.*\])? --> (.*)$", page, re.MULTILINE):
        arrows[subpackage] = set(others.split(" & "))
    assert set(arrows) == {*ALLOWED, "cli"} - {"parse"}
    for subpackage, allowed in ALLOWED.items():
        box = "parser" if subpackage == "parse" else subpackage
        reached, more = set(), arrows[box]
        while more:
            reached |= more
            more = set().union(*(arrows[other] for other in more)) - reached
        assert arrows[box] <= allowed
        assert allowed - {"parse"} <= reached


def test_the_two_walks_have_at_most_seven_steps_and_name_files_that_exist() -> None:
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = page.split("\n## ")[2:]
    assert [walk.splitlines()[0] for walk in walks] == [
        "From a sentence to the drawn trees",
        "From a treebank file to the loss",
    ]
    for walk in walks:
        steps = re.findall(r"^(\d)\. ", walk, re.MULTILINE)
        assert steps == [str(number) for number in range(1, len(steps) + 1)] and 1 < len(steps) <= 7
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", walk):
            assert (SOURCE / name).exists(), name
