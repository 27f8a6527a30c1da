"""Damaged treebank files: every way to score them gives figures or an error that says what is wrong."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from arcspan.cli import run as command_line
from arcspan.errors import ArcspanError
from arcspan.evaluation import evaluate_brackets, evaluate_files, evaluate_raw
from arcspan.evaluation.breakdown import breakdown_files
from arcspan.treebanks.tree_files import TreeFiles
from tests.evaluation.samples import GOLD, PREDICTED, write

DU = """\
# text = Elle vient du sud.
1\tElle\tlui\tPRON\t_\tNumber=Sing|Person=3\t2\tnsubj\t_\t_
2\tvient\tvenir\tVERB\t_\t_\t0\troot\t_\t_
3-4\tdu\t_\t_\t_\t_\t_\t_\t_\t_
3\tde\tde\tADP\t_\t_\t5\tcase\t_\t_
4\tle\tle\tDET\t_\tDefinite=Def\t5\tdet\t_\t_
5\tsud\tsud\tNOUN\t_\t_\t2\tobl:arg\t_\tSpaceAfter=No
5.1\tx\t_\t_\t_\t_\t_\t_\t2:obl\t_
6\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""
PIECES = [
    *"()\t\n\r \x00\x0b\x1c\x85\xa0\u2028#-._|:=0123456789",
    "\n\n", "\r\n", "(())", "( ", " )", "(TOP", "-NONE-", "(-NONE- *)", "-LRB-", "1-2", "2-1", "1-2-3", "1.1", "0",
    "-1", "99999999999", "9" * 5000, "٣", "²", "_", "(" * 3000, ")" * 50, "(S " * 3000, "\ufeff", "\u0301", "中",
    "\U0010ffff",
]  # fmt: skip
BYTES = [b"\xff", b"\xfe\xff", b"\x80", b"\xed\xa0\x80", b"\x1f\x8b\x08", b"\xfd7zXZ\x00"]


def damage(content: bytes, rng: random.Random) -> bytes:
    """A file with some of its parts lost, doubled, moved or replaced."""
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice((1, 1, 3, 30)))
        lines = content.split(b"\n")
        line = rng.randrange(len(lines))
        edit = rng.randrange(8)
        if edit == 0:
            content = content[:at] + content[end:]
        elif edit <= 2:
            content = (
                content[:at] + rng.choice(PIECES).encode() + content[at if edit == 1 else end :]
            )
        elif edit == 3:
            content = content[:at] + rng.choice(BYTES) + content[at:]
        elif edit == 4:
            content = content[:at] + content[at:end] * 2 + content[end:]
        elif edit == 5:
            content = b"\n".join(lines[:line] + lines[line + 1 :])
        elif edit == 6:
            content = b"\n".join([*lines[:line], rng.choice(lines), *lines[line:]])
        else:
            cells = lines[line].split(b"\t")
            cells[rng.randrange(len(cells))] = rng.choice(PIECES).encode()
            content = b"\n".join([*lines[:line], b"\t".join(cells), *lines[line + 1 :]])
    return content if rng.random() < 0.95 else content[: rng.randrange(len(content) + 1)]


@functools.cache
def originals() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), "gold", GOLD)
        write(Path(folder), "predicted", PREDICTED)
        contents = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    return {**contents, "raw.conllu": DU.encode() * 2, "other.conllu": DU.encode() * 2}


def ways(folder: Path) -> list[tuple[list[str], Callable[[], object]]]:
    """The files that each way to score reads, and the call."""
    gold, predicted = (
        [str(folder / f"{name}.{end}") for end in ("ptb", "conllu")]
        for name in ("gold", "predicted")
    )
    raw = [str(folder / "raw.conllu"), str(folder / "other.conllu")]
    tree_files = TreeFiles(*gold), TreeFiles(*predicted)
    return [
        ([*gold, *predicted], lambda: str(evaluate_files(*tree_files))),
        ([*gold, *predicted], lambda: breakdown_files(*tree_files)),
        (
            [gold[0], predicted[0]],
            lambda: evaluate_files(TreeFiles(gold[0], None), TreeFiles(predicted[0], None)),
        ),
        (
            [gold[1], predicted[1]],
            lambda: evaluate_files(TreeFiles(None, gold[1]), TreeFiles(None, predicted[1])),
        ),
        ([gold[0], predicted[0]], lambda: str(evaluate_brackets(gold[0], predicted[0]))),
        (raw, lambda: str(evaluate_raw(*raw))),
        (raw, lambda: evaluate_files(TreeFiles(None, raw[0]), TreeFiles(None, raw[1]))),
        (raw, lambda: _command(["evaluate", "--raw", *raw, "--json"])),
        ([*gold, *predicted], lambda: _command(["evaluate", *gold, *predicted, "--labels"])),
    ]


def _command(args: list[str]) -> None:
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        code = command_line(args)
    assert code in (0, 2), errors.getvalue()
    if code:
        raise ArcspanError("the command refused the files")


def attempt(rng: random.Random, folder: Path) -> str:
    """Damage some files, score them in some way, and say what happened."""
    for name, content in originals().items():
        (folder / name).write_bytes(content)
    files, score = rng.choice(ways(folder))
    for name in rng.sample(files, rng.choice((1, 1, 2))):
        path = Path(name)
        path.write_bytes(damage(path.read_bytes(), rng))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score()
    except ArcspanError as error:
        assert str(error)
        return "refused"
    except Exception as error:
        contents = {name: Path(name).read_bytes() for name in files}
        raise AssertionError(f"{type(error).__name__}: {error} for {contents}") from error
    return "scored"


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    """Score damaged files and count what happened."""
    rng, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for _ in rounds:
            counts[f"pairs of damaged files {attempt(rng, Path(folder))}"] += 1
    return counts


def test_damaged_files_are_scored_or_refused(tmp_path: Path) -> None:
    rng = random.Random(1)
    counts = Counter(attempt(rng, tmp_path) for _ in range(400))
    assert min(counts["scored"], counts["refused"]) > 20, counts
