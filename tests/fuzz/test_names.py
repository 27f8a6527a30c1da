"""Odd names of files and folders: each is written escaped and read back, and no output is ever input."""

from __future__ import annotations

import contextlib
import io
import os
import random
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from arcspan.cli import run as run_command
from arcspan.formats import FORMATS
from arcspan.treebanks import read_conllu
from tests.fuzz.test_text import TOY

PIECES = (
    "a",
    "é",
    "漢",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\x1b[8m",
    "\x07",
    "\u202e",
    "\u2028",
    "\ufeff",
    "%0A",
    "%",
    "=",
    "-",
    "#",
    "'",
    "\\",
    "*",
    "[a]",
    "~",
    os.fsdecode(b"\xff"),
    "\n1\tEVIL\t_\t_\t_\t_\t0\troot\t_\t_",
    "# newdoc id = b",
    "x" * 100,
    ".conllu",
    ".part",
    ".ptb",
)
OUTPUTS = ("corpus/out/", "corpus/a/b/", "out/", "corpus/out\n/", "corpus/-o/")


def draw_name(rng: random.Random) -> str:
    """Return a name that a file system takes, and that is not hidden."""
    name = "".join(rng.choices(PIECES, k=rng.randrange(1, 6))).lstrip("._") or "a"
    while len(os.fsencode(name)) > 250:
        name = name[: len(name) // 2]
    return name


def make_corpus(rng: random.Random, corpus: Path) -> int:
    """Write texts with odd names at several depths; return their number."""
    paths = set()
    for _ in range(rng.randrange(1, 5)):
        folders = [draw_name(rng)[:60] for _ in range(rng.randrange(3))]
        path = corpus.joinpath(*folders, draw_name(rng) + ".txt")
        # A folder may be where another file is.
        with contextlib.suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("Ada plays .\n", encoding="utf-8")
            paths.add(path)
    return len(paths)


def call(*arguments: str | Path) -> tuple[int, str]:
    """Run the command line; return its code and what it wrote on standard error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code = run_command([*map(str, arguments), "-m", str(TOY)])
    return code, errors.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def is_plain(text: str) -> bool:
    """Return whether a text has no control or format characters but tabs and line breaks."""
    return not any(
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        for character in text
        if character not in "\t\n"
    )


def attempt(rng: random.Random, folder: Path) -> str:
    """Parse a corpus with odd names into one file, and into a folder twice."""
    corpus = folder / "corpus"
    corpus.mkdir()
    count = make_corpus(rng, corpus)
    joined = folder / "all.conllu"
    code, errors = call("parse", corpus, "-o", joined)
    if code:
        # Escaped, a line break is the same as "%0A".
        assert code == 2 and "would both be called" in errors, errors
        return "refused"
    sentences = list(read_conllu(joined))
    assert len(sentences) == count
    assert len({sentence.comment("newdoc id") for sentence in sentences}) == count
    assert is_plain(joined.read_text(encoding="utf-8"))
    output = f"{folder}/{rng.choice(OUTPUTS)}"
    code, errors = call("parse", corpus, "-o", output)
    assert code == 0, errors
    suffix = FORMATS["conllu"].suffixes[0]
    written = [path for path in Path(output).rglob(f"*{suffix}") if path.is_file()]
    assert len(written) == count
    for path in written:
        assert is_plain(str(path.relative_to(output)))
        assert len(list(read_conllu(path))) == 1
    before = contents(folder)
    code, errors = call("parse", corpus, "-o", output)
    assert code == 0 and f"{count} of {count} files are done already" in errors, errors
    assert contents(folder) == before
    return "output inside input" if output.startswith(str(corpus)) else "output beside input"


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    """Parse corpora with odd names and count what happened."""
    rng, counts = random.Random(seed), Counter[str]()
    for _ in rounds:
        with tempfile.TemporaryDirectory() as folder:
            try:
                counts[attempt(rng, Path(folder))] += 1
            except Exception as error:
                names = [str(path.relative_to(folder)) for path in Path(folder).rglob("*.txt")]
                raise AssertionError(f"{type(error).__name__}: {error} for {names!r}") from error
    return counts


def test_odd_names_are_escaped_and_outputs_are_never_input() -> None:
    counts = run(seed=1, rounds=range(12))
    assert counts["output inside input"] and counts["output beside input"], counts
