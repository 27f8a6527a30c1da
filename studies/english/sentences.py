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


def required_sentences() -> list[dict[str, Any]]:
    """The sentences with their facts."""
    sentences: list[dict[str, Any]] = tomllib.loads((HERE / "sentences.toml").read_text("utf-8"))[
        "sentences"
    ]
    return sentences


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
    parse_facts = set(facts(parse))
    return [
        fact for fact in [*sentence["arcs"], *sentence["constituents"]] if fact not in parse_facts
    ]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("bundles", nargs="+", metavar="[NAME=]BUNDLE")
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for bundle in options.parse_args().bundles:
        name, _, path = bundle.rpartition("=")
        parser = arcspan.load(path, threads=1)
        missed_facts = {
            sentence["text"]: missed(parser, sentence) for sentence in required_sentences()
        }
        counts = {}
        for group in (1, 2):
            sentences = [entry for entry in required_sentences() if entry.get("group", 1) == group]
            total = sum(len(entry["arcs"]) + len(entry["constituents"]) for entry in sentences)
            right = total - sum(len(missed_facts[entry["text"]]) for entry in sentences)
            counts[f"group {group}"] = {"facts": total, "right": right}
            without_miss = sum(not missed_facts[entry["text"]] for entry in sentences)
            print(
                f"{name or path}, group {group}: {right} of {total} facts, {without_miss} of {len(sentences)} sentences"
            )
        results[name or parser.config["name"]] = {**counts, "missed": missed_facts}
        for text, facts_missed in missed_facts.items():
            print(f"  {text}  {'; '.join(facts_missed) or 'as wanted'}")
    RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
