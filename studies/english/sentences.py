"""How many of the facts that `sentences.toml` wants hold, by sentence, for one or more bundles; writes sentences.json.

python studies/english/sentences.py [NAME=]BUNDLE ...
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import arcspan

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "sentences.json"


def wanted() -> list[dict[str, Any]]:
    """The sentences with their facts."""
    found: list[dict[str, Any]] = tomllib.loads((HERE / "sentences.toml").read_text("utf-8"))["sentences"]
    return found


def facts(parse: Any) -> Iterator[str]:
    """What a parse says, as `sentences.toml` writes it."""
    words = list(parse.words)
    names = [
        word if (count := words[: k + 1].count(word)) == 1 else f"{word}#{count}"
        for k, word in enumerate(words)
    ]
    for name, head, relation in zip(names, parse.heads, parse.relations, strict=True):
        yield f"{name} {relation} {names[head - 1] if head else 'ROOT'}"
    for i, j, label in parse.constituency.spans:
        yield f"{label} {' '.join(words[i:j])}"


def missed(parser: arcspan.Parser, sentence: dict[str, Any]) -> list[str]:
    """The wanted facts that do not hold."""
    (parse,) = parser(sentence["text"])
    said = set(facts(parse))
    return [fact for fact in [*sentence["arcs"], *sentence["constituents"]] if fact not in said]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("bundles", nargs="+", metavar="[NAME=]BUNDLE")
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for given in options.parse_args().bundles:
        name, _, path = given.rpartition("=")
        parser = arcspan.load(path, threads=1)
        own = {sentence["text"]: missed(parser, sentence) for sentence in wanted()}
        total = sum(len(one["arcs"]) + len(one["constituents"]) for one in wanted())
        right = total - sum(map(len, own.values()))
        results[name or parser.config["name"]] = {"facts": total, "right": right, "missed": own}
        print(
            f"{name or path}: {right} of {total} facts, {sum(not one for one in own.values())} of {len(own)} sentences"
        )
        for text, facts_missed in own.items():
            print(f"  {text}  {'; '.join(facts_missed) or 'as wanted'}")
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
