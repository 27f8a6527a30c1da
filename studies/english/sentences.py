"""How many facts of `sentences.toml` hold, by sentence and group, for one or more bundles; writes sentences.json.

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
    found: list[dict[str, Any]] = tomllib.loads((HERE / "sentences.toml").read_text("utf-8"))[
        "sentences"
    ]
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
        counts = {}
        for group in (1, 2):
            sentences = [one for one in wanted() if one.get("group", 1) == group]
            total = sum(len(one["arcs"]) + len(one["constituents"]) for one in sentences)
            right = total - sum(len(own[one["text"]]) for one in sentences)
            counts[f"group {group}"] = {"facts": total, "right": right}
            whole = sum(not own[one["text"]] for one in sentences)
            print(
                f"{name or path}, group {group}: {right} of {total} facts, {whole} of {len(sentences)} sentences"
            )
        results[name or parser.config["name"]] = {**counts, "missed": own}
        for text, facts_missed in own.items():
            print(f"  {text}  {'; '.join(facts_missed) or 'as wanted'}")
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
