"""Compare arcspan's bracket scores with the C program EVALB, sentence by sentence and figure by
figure.

    python benchmarks/against_evalb.py EVALB GOLD.ptb [PREDICTED.ptb] [--prm COLLINS.prm]

EVALB is the compiled program (https://nlp.cs.nyu.edu/evalb/); as distributed it has room for 200
words and 200 brackets a sentence and 5,000 bytes a line, so raise these constants for long
sentences. Without a prediction, one is made from the gold trees by a seeded random generator:
brackets, labels, tags and words go wrong, and some lines are empty or unbalanced. Exit code 1 where
anything differs.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from arcspan.evaluation import COLLINS, BracketReport, BracketRules, evaluate_brackets, read_prm
from arcspan.evaluation.evalb import OK
from arcspan.treebanks.streams import read_lines

LABELS = ["NP", "VP", "S", "ADVP", "PRT", "NP-SBJ", "X=1", "TOP", "PRT|ADVP"]
TAGS = ["NN", ",", ".", ":", "``", "''", "POS", "-NONE-", "JJ", "PRT"]
_LEAF = re.compile(r"\((\S+) ([^\s()]+)\)")


def spoil(line: str, draw: random.Random) -> str:
    """A line with some of its brackets, tags and words changed, sometimes beyond repair."""
    fate = draw.random()
    if fate < 0.01:
        return draw.choice(["", "(())", "(TOP )", line + ")", "(" + line])

    def leaf(match: re.Match[str]) -> str:
        tag, word = match.groups()
        if draw.random() < 0.005:
            tag = draw.choice(TAGS)
        if draw.random() < 0.001:
            word = "wrong"
        text = f"({tag} {word})"
        return f"({draw.choice(LABELS)} {text})" if draw.random() < 0.03 else text

    def label(match: re.Match[str]) -> str:
        return f"({draw.choice(LABELS)} (" if draw.random() < 0.05 else match.group()

    def swallow(match: re.Match[str]) -> str:
        return f" {match[2]}) {match[1]} " if draw.random() < 0.1 else match.group()

    line = re.sub(r"\((\S+) \(", label, _LEAF.sub(leaf, line))
    # A constituent swallows the first word of the next one: crossing brackets.
    return re.sub(r"(?<=\))\) (\([^\s()]+) (\([^\s()]+ [^\s()]+\)) ", swallow, line)


def evalb_rules(rules: BracketRules) -> Iterator[str]:
    """Rules as lines of a .prm file, with as many errors allowed as there may be."""
    yield "MAX_ERROR 1000000"
    yield f"CUTOFF_LEN {rules.cutoff}"
    yield f"LABELED {int(rules.labelled)}"
    yield from (f"DELETE_LABEL {label}" for label in sorted(rules.deleted))
    yield from (f"DELETE_LABEL_FOR_LENGTH {label}" for label in sorted(rules.deleted_for_length))
    yield from (f"QUOTE_LABEL {label}" for label in sorted(rules.quotes))
    yield from (f"EQ_LABEL {a} {b}" for a, b in sorted(rules.equal_labels))
    yield from (f"EQ_WORD {a} {b}" for a, b in sorted(rules.equal_words))


def differences(output: str, report: BracketReport) -> Iterator[str]:
    """What EVALB's output says otherwise than the report."""
    lines = output.splitlines()[3:]
    for number, sentence in enumerate(report.sentences, 1):
        cells = lines[number - 1].split()
        theirs = [int(cells[k]) for k in (0, 1, 2)]
        ours = [number, sentence.length, sentence.status]
        if sentence.status == OK:
            theirs += [int(cells[k]) for k in (5, 6, 7, 8, 9, 10)]
            ours += [
                sentence.matched,
                sentence.gold,
                sentence.predicted,
                sentence.crossing,
                sentence.words,
                sentence.correct_tags,
            ]
        if theirs != ours:
            yield f"sentence {number}: EVALB {theirs}, arcspan {ours}"
    summary = output[output.index("=== Summary ===") :].strip().splitlines()
    for theirs_line, ours_line in zip(summary, str(report).splitlines(), strict=True):
        if theirs_line != ours_line:
            yield f"EVALB {theirs_line!r}, arcspan {ours_line!r}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evalb", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("predicted", type=Path, nargs="?")
    parser.add_argument("--prm", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rules = COLLINS if options.prm is None else read_prm(options.prm)
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        gold, predicted, prm = (Path(folder, name) for name in ("gold", "predicted", "prm"))
        lines = list(read_lines(options.gold))
        wrong = (
            read_lines(options.predicted)
            if options.predicted
            else (spoil(line, draw) for line in lines)
        )
        gold.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        predicted.write_text("".join(line + "\n" for line in wrong), encoding="utf-8")
        prm.write_text("".join(line + "\n" for line in evalb_rules(rules)), encoding="utf-8")
        output = subprocess.run(
            [options.evalb.resolve(), "-p", prm, gold, predicted],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        ).stdout.decode("utf-8", errors="replace")
        report = evaluate_brackets(gold, predicted, rules)
    disagreements = list(differences(output, report))
    print(
        *disagreements[:20],
        report,
        f"{len(disagreements)} differences in {len(report.sentences)} sentences",
        sep="\n",
    )
    return bool(disagreements)


if __name__ == "__main__":
    raise SystemExit(main())
