"""Damaged treebank and rule files, and hostile words: files are read or refused by name, and what is read survives."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

from arcspan.errors import FileError
from arcspan.treebanks import (
    Pair,
    ReadingReport,
    check,
    filter_pairs,
    load_rules,
    read_conllu,
    read_pairs,
    read_rules,
    write_pairs,
)
from arcspan.trees import ConstituencyTree, DependencyTree
from arcspan.trees.words import one_line
from tests.fuzz.test_evaluation import PIECES, damage
from tests.treebanks.samples import TREES, WORDS, write

DOCUMENTS = WORDS.replace("# sent_id = two", "# newdoc id = b\n# genre = essay\n# sent_id = two")
REWRITING = """\
[[constituents]]
label = "NP"
parent = ["SBAR", "S"]
first = "NN"
words = 1
to = "WHNP"
[[tags]]
tag = "TO"
word = "[a-z]+"
to = ""
"""


def strictly(brackets: Path | None, conll: Path | None) -> str:
    """Read damaged files to the first problem, which must be told with a file's name."""
    try:
        pairs = list(read_pairs(brackets, conll))
    except FileError as error:
        assert str(error).startswith(tuple(str(path) for path in (brackets, conll) if path)), error
        return "refused"
    for constituency, dependencies in pairs:
        assert None in (constituency, dependencies) or constituency.words == dependencies.words
    copies = _copy_of(brackets), _copy_of(conll)
    assert write_pairs(pairs, *copies) == len(pairs)
    written = [tuple(map(one_line, pair.words)) for pair in pairs]
    assert [pair.words for pair in read_pairs(*copies)] == written
    return "read"


def _copy_of(path: Path | None) -> Path | None:
    return path and path.with_name(f"copy-{path.name}")


def patiently(brackets: Path | None, conll: Path | None) -> str:
    """Read past problems: every sentence is read, skipped and counted, or the whole file is refused."""
    report = ReadingReport()
    try:
        pairs = list(read_pairs(brackets, conll, mismatch="skip", report=report))
        list(check(brackets, conll))
    except FileError:
        return "refused as a whole"
    assert len(pairs) == report.read and report.skipped <= len(report.problems)
    copies = _copy_of(brackets), _copy_of(conll)
    filtered = filter_pairs(
        (brackets, conll), copies, mismatch="skip", incompatible=True, lengths=(0, None)
    )
    assert filtered.written == len(pairs)
    if pairs:
        assert list(read_pairs(*copies)) == pairs
    return "read in part" if report.skipped else "read"


def attempt_treebank(rng: random.Random, folder: Path) -> str:
    """Damage one or both files of a pair, and read them in every way."""
    paths: list[Path | None] = list(write(folder, TREES, DOCUMENTS))
    for path in rng.sample(paths, rng.choice((1, 1, 2))):
        assert path is not None
        path.write_bytes(damage(path.read_bytes(), rng))
    if rng.random() < 0.3:
        paths[rng.randrange(2)] = None
    try:
        for sentence in read_conllu(folder / "a.conllu"):
            _ = sentence.tokens, sentence.text, sentence.tree
    except FileError as error:
        assert str(error).startswith(str(folder / "a.conllu"))
    return f"treebank {rng.choice((strictly, patiently))(*paths)}"


def attempt_rules(rng: random.Random, folder: Path) -> str:
    """Damage a file of rules: it is refused by name, or rules come out that can be applied."""
    tree = ConstituencyTree.from_brackets(TREES.splitlines()[0])
    table = files("arcspan.trees").joinpath("head_table_ptb.txt").read_text(encoding="utf-8")
    name, content, load = rng.choice(
        [
            ("table.txt", table.encode(), load_rules),
            ("rewrite.toml", REWRITING.encode(), read_rules),
        ]
    )
    path = folder / name
    path.write_bytes(damage(content, rng))
    read: Callable[[Path], object] = load  # type: ignore[assignment]
    try:
        rules = read(path)
    except FileError as error:
        assert str(error).startswith(str(path)), error
        return "rules refused"
    if hasattr(rules, "convert"):
        assert len(rules.convert(tree)) == len(tree)
    return "rules read"


def attempt_words(rng: random.Random, folder: Path) -> str:
    """Any words at all, written as a pair: the two files agree, and are one sentence."""
    pieces = [piece for piece in PIECES if len(piece) < 10 and "\x00" not in piece]
    words = [
        "".join(rng.choices([*pieces, "\\", "a"], k=rng.randrange(1, 4)))
        for _ in range(rng.randrange(1, 6))
    ]
    n = len(words)
    c = ConstituencyTree(
        words, rng.choices(["X", "-LRB-", "A B", "\\"], k=n), [(0, n, "S"), (0, 1, "N\tP")]
    )
    d = DependencyTree(range(n), ["x\ty"] * n, words, c.tags, lemmas=words)
    paths = folder / "w.ptb", folder / "w.conllu"
    write_pairs([Pair(c, d)], *paths)
    problems = [problem for problem in check(*paths) if problem.kind not in ("tags", "labels")]
    assert not problems and len(list(read_pairs(*paths))) == 1, (words, problems)
    return "hostile words agree"


def attempt(rng: random.Random, folder: Path) -> str:
    return rng.choice((attempt_treebank, attempt_treebank, attempt_rules, attempt_words))(
        rng, folder
    )


def run(seed: int, rounds: Iterable[object]) -> Counter[str]:
    """Read damaged files and count what happened."""
    rng, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for _ in rounds:
            state = rng.getstate()
            try:
                counts[attempt(rng, Path(folder))] += 1
            except Exception as error:
                rng.setstate(state)
                contents = {
                    path.name: path.read_bytes()[:2000]
                    for path in Path(folder).iterdir()
                    if path.name[0] in "adrtw"
                }
                raise AssertionError(f"{type(error).__name__}: {error} for {contents}") from error
    return counts


def test_damaged_files_are_read_or_refused_by_name(tmp_path: Path) -> None:
    rng = random.Random(1)
    counts = Counter(attempt(rng, tmp_path) for _ in range(400))
    assert (
        min(
            counts[outcome]
            for outcome in ("treebank read", "treebank refused", "hostile words agree")
        )
        > 10
    ), counts
    assert min(counts["rules read"], counts["rules refused"]) > 10, counts
