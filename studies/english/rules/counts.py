"""How often labels and tags occur in the English treebanks, before and after rewriting, per thousand words.

    python studies/english/rules/counts.py TREEBANKS

TREEBANKS is a folder with the folders masc, gum, craft-ud and genia. Rows where all treebanks are alike (a factor below
two, or fewer than one in a thousand words everywhere) are left out. After the table: how many noun phrases with three
nouns or more that contain nothing but words and NML have NML, and how many do not. README.md beside this file has both.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from arcspan.treebanks import read_pairs, read_rules, rewrite
from arcspan.treebanks.statistics import Statistics
from arcspan.trees.constituency import units

HERE = Path(__file__).parent
NAMES = ("masc", "gum", "craft-ud", "genia")


def count(folder: Path, rules: Path) -> tuple[Statistics, Statistics]:
    """Counts over train and dev as they are, and rewritten."""
    before, after = Statistics(), Statistics()
    loaded = read_rules(rules)
    for split in ("train", "dev"):
        for pair in read_pairs(folder / f"{split}.ptb.xz", None):
            before.add(pair)
            after.add(rewrite(pair, loaded))
    return before, after


def noun_phrases(folder: Path) -> Counter[str]:
    """Noun phrases of three nouns or more, of words and NML alone: with NML, and flat."""
    counts: Counter[str] = Counter()
    for split in ("train", "dev"):
        for pair in read_pairs(folder / f"{split}.ptb.xz", None):
            nodes, _, children = units(pair.constituency)
            for (i, j, chain), below in zip(nodes, children, strict=True):
                inside = {nodes[child][2][:1] for child in below}
                nouns = sum(tag.startswith("NN") for tag in pair.constituency.tags[i:j])
                if chain[-1:] == ("NP",) and nouns > 2 and inside and inside <= {(), ("NML",)}:
                    counts["with NML" if ("NML",) in inside else "flat"] += 1
    return counts


def rates(statistics: Statistics, inventory: Counter[str], name: str) -> float:
    return 1000 * inventory[name] / statistics.words


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    treebanks = [
        count(Path(sys.argv[1]) / name, HERE / f"{name.removesuffix('-ud')}.toml") for name in NAMES
    ]
    print("| | " + " | ".join(NAMES) + " |\n|---|" + "---|" * len(NAMES))
    for inventory in ("labels", "tags"):
        for name in sorted(
            {
                name
                for versions in treebanks
                for version in versions
                for name in getattr(version, inventory)
            }
        ):
            rows = [
                [rates(version, getattr(version, inventory), name) for version in versions]
                for versions in treebanks
            ]
            values = [value for row in rows for value in row]
            if max(values) >= 1 and max(values) > 2 * min(values):
                cells = [
                    f"{old:.2f}" + (f" → {new:.2f}" if old != new else "") for old, new in rows
                ]
                print(f"| {name or '(none)'} | " + " | ".join(cells) + " |")
    for name in NAMES:
        print(name, dict(noun_phrases(Path(sys.argv[1]) / name)))


if __name__ == "__main__":
    main()
