"""Constituents to dependencies by the converter that made a treebank's own (Table 6).

A converter is the name of a head table of arcspan ("ptb", "ctb"), or a command with `{brackets}` in
it: the file that it reads, one tree per line with the root ROOT. It writes CoNLL-X to standard
output, or to `{conll}` where that is in it. `ARCSPAN_CONVERTER_PTB` sets the converter of the
treebank `ptb`, and so on. docs/train.md has the paper's.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arcspan.errors import ArcspanError
from arcspan.treebanks import load_rules
from arcspan.treebanks.importers.penn import joined
from arcspan.trees import ConstituencyTree, DependencyTree, convert


def converted(trees: Sequence[ConstituencyTree], converter: str) -> list[DependencyTree]:
    """The dependencies of trees, in order."""
    if "{brackets}" not in converter:
        rules = load_rules(converter)
        return [convert(tree, rules) for tree in trees]
    with tempfile.TemporaryDirectory() as folder:
        brackets, conll = Path(folder) / "trees.ptb", Path(folder) / "trees.conll"
        lines = (tree.with_wrapper("ROOT").brackets() for tree in trees)
        brackets.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        command = [part.format(brackets=brackets, conll=conll) for part in shlex.split(converter)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            errors = done.stderr.decode(errors="replace").strip()[-500:]
            raise ArcspanError(
                f"the converter ended with {done.returncode}: {shlex.join(command)}: {errors}"
            )
        if "{conll}" not in converter:
            conll.write_bytes(done.stdout)
        located = ((f"tree {number}", tree) for number, tree in enumerate(trees, 1))
        return [pair.dependencies for pair in joined(located, conll)]
