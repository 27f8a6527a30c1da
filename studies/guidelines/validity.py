"""Run the validator of Universal Dependencies on parses of raw text; count its errors by kind.

    ARCSPAN_TREEBANKS=FOLDER python studies/guidelines/validity.py [--bundle BUNDLE] [--every 2]

Parses one of `--every` documents of ewt dev from raw text, without guidelines and with them, and
counts the errors at levels 2 and 3 of the validator (package udtools) by their names. Writes
validity.json beside this file (or `--output`). `--ways with` runs with guidelines only.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from udtools import Validator

import arcspan
from arcspan.files import atomic_write
from arcspan.training.segmenter import plain_text
from arcspan.training.segmenting_data import documents

HERE = Path(__file__).resolve().parent
WAYS = {"without": False, "with": True}


def count_errors(sentences: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the validator's errors in CoNLL-U sentences at levels 2 and 3, by their names."""
    validator = Validator(lang="en", level=3, output=None)
    by_level: dict[str, Counter[str]] = {"level 2": Counter(), "level 3": Counter()}
    for lines in sentences:
        state = validator.validate_sentence([*lines.rstrip("\n").split("\n"), ""])
        for incident in state.error_tracker:
            if incident.is_error():
                level = f"level {max(2, incident.level)}"
                by_level[level][incident.testid] += 1
    return by_level


def numbered(parse: arcspan.Parse, number: int) -> str:
    """Return a parse in CoNLL-U with the comments that the validator needs."""
    lines = [line for line in parse.conllu().split("\n") if not line.startswith("# sent_id")]
    return "\n".join([f"# sent_id = {number}", *lines])


def study(bundle: str | None, guidelines: bool, texts: Sequence[str]) -> dict[str, Any]:
    """Return the errors in parses of texts, with or without guidelines."""
    parser = arcspan.load(bundle, guidelines=guidelines)
    sentences: list[str] = []
    words = 0
    for text in texts:
        for parse in parser(text):
            sentences.append(numbered(parse, len(sentences) + 1))
            words += len(parse.words)
    by_level = count_errors(sentences)
    errors: dict[str, Any] = {"sentences": len(sentences), "words": words}
    for level, counts in by_level.items():
        errors[level] = counts.total()
        errors[f"{level} by name"] = dict(counts.most_common())
    return errors


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", help="a model bundle; default: the one inside the package")
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--every", type=int, default=2, help="parse one of so many documents")
    options.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    options.add_argument("--output", type=Path, default=HERE / "validity.json")
    arguments = options.parse_args()
    if arguments.treebanks is None:
        options.error("name the folder of treebanks: --treebanks, or ARCSPAN_TREEBANKS")
    path = arguments.treebanks / "ewt" / "dev.conllu.xz"
    texts = [plain_text(document)[0] for document in documents(path, every=arguments.every)]
    results: dict[str, Any] = {"treebank": "ewt dev", "every": arguments.every}
    for way in arguments.ways:
        results[way] = study(arguments.bundle, WAYS[way], texts)
        print(f"{way} guidelines: {results[way]}")
    with atomic_write(arguments.output) as file:
        file.write(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
