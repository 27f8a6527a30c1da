"""Score a model bundle on the dev parts of the English treebanks and on craft-ud test; write results.json.

    ARCSPAN_TREEBANKS=FOLDER python studies/english/score.py [BUNDLE]

Without BUNDLE it is the English model inside the package. Each treebank is parsed in its own style, gum and ewt also in
the default style, from its own words; gum and ewt also from raw text, with a blank line between paragraphs. The dev
part of childes is the last tenth of its training file.

- `las`, `uas`, `conll18` and `raw` as the CoNLL 2018 scorer counts them: punctuation counts, subtypes do not.
- `las_words`, `uas_words`: without punctuation (by the Penn Treebank's tags); `las_subtypes`: with subtypes.
- F1 is EVALB's with the rules of COLLINS.prm; punctuation is told by the gold tags, so that no sentence is left out.
- `rewritten`: the F1 of gum where `rules/gum.toml` mends its constituents first, as in training.
- `flat`: the F1 of masc in the default style where its noun phrases have no NML.
- `las_lower`, `las_upper`: LAS where no word has a capital, and where all letters are capitals.
- `errors`: the constituents and the relations of gum that are wrong most often, each with what stood there instead.

`studies/readme_figures.py` makes the tables of the README and the model card from it.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import arcspan
from arcspan.evaluation import evaluate, evaluate_raw
from arcspan.evaluation.breakdown import NOTHING
from arcspan.files import atomic_write
from arcspan.training.segmenter import plain_text
from arcspan.training.segmenting_data import documents
from arcspan.treebanks import ConlluSentence, Pair, read_conllu, read_pairs
from arcspan.treebanks.rewriting import read_rules, rewrite

HERE = Path(__file__).resolve().parent
NOT_FREE = ("essay", "fiction", "letter", "podcast", "whow", "conversation")


class Part(NamedTuple):
    """A part of a treebank, the style it is parsed in, and how a sentence's name tells its genre."""

    treebank: str
    part: str
    style: str | None
    layers: str  # c, d or cd
    genre: Callable[[str], str] | None = None

    @property
    def name(self) -> str:
        own = self.treebank if self.treebank in ("gum", "ewt", "masc") else self.style
        return f"{self.treebank} {self.part}" + ("" if self.style == own else ", default style")

    @property
    def is_brief(self) -> bool:
        """Whether `--brief` asks for it."""
        is_default = self.name.endswith("default style") and self.treebank != "masc"
        return self.treebank != "craft-ud" and not is_default


PARTS = (
    Part("gum", "dev", "gum", "cd", lambda name: name.split("_")[1]),
    Part("ewt", "dev", "ewt", "d", lambda name: name.split("-")[0]),
    Part("gum", "dev", None, "cd"),
    Part("ewt", "dev", None, "d"),
    Part("masc", "dev", "masc", "c"),
    Part("masc", "dev", None, "c"),
    Part("genia", "dev", "genia", "c"),
    Part("craft-ud", "dev", "craft", "cd"),
    Part("craft-ud", "test", "craft", "cd"),
    Part("atis", "dev", "atis", "d"),
    Part("eslspok", "dev", "eslspok", "d"),
    Part("childes", "dev", "childes", "d"),
)
RAW = (
    "Tokens",
    "Words",
    "Sentences",
    "UPOS",
    "XPOS",
    "UFeats",
    "Lemmas",
    "UAS",
    "LAS",
    "MLAS",
    "BLEX",
)
HIDDEN = ("genres", "conll18", "errors")  # not printed
MOST = 12  # kinds of errors in a list
TREES = {"f1": "f1", "lcm_con": "lcm_con", "lcm_dep": "lcm_dep", "lcm_both": "lcm_both"}


def main() -> None:
    options = arguments()
    parser = arcspan.load(options.bundle, threads=options.threads)
    known = ("name", "system", "precision", "arcspan", "licence")
    results: dict[str, Any] = {
        "model": {name: parser.config.get(name) for name in known},
        "treebanks": {},
    }
    for part in PARTS if not options.brief else [part for part in PARTS if part.is_brief]:
        stem = options.treebanks / part.treebank / part.part
        if part.treebank == "childes":  # dev is a part of its only file
            stem = options.treebanks / "childes" / "train"
        files = {kind: f"{stem}.{kind}.xz" for kind in ("ptb", "conllu")}
        entry = score_part(parser, part, files, options.limit)
        if part.treebank in ("gum", "ewt") and not (options.limit or options.brief):
            score_raw(parser, part, files["conllu"], entry)
            if part.style:
                score_case(parser, part, files["conllu"], entry)
        name = part.name
        results["treebanks"][name] = entry
        print(
            f"{name}: "
            + ", ".join(f"{key} {value}" for key, value in entry.items() if key not in HIDDEN)
        )
    if options.limit:
        print("only part of the sentences: nothing is written")
        return
    with atomic_write(options.output) as file:
        file.write(json.dumps(results, indent=1) + "\n")
    print(f"wrote {options.output}")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "bundle", nargs="?", help="a model bundle; default: the one inside the package"
    )
    options.add_argument("--treebanks", type=Path, default=os.environ.get("ARCSPAN_TREEBANKS"))
    options.add_argument("--output", type=Path, default=HERE / "results.json")
    options.add_argument(
        "--brief",
        action="store_true",
        help="dev parts in their own styles, from gold words, without craft-ud",
    )
    options.add_argument(
        "--limit", type=int, help="only the first sentences of each; writes nothing"
    )
    options.add_argument("--threads", type=int)
    found = options.parse_args()
    if found.treebanks is None:
        options.error(
            "say where the treebanks are: --treebanks FOLDER, or the variable ARCSPAN_TREEBANKS"
        )
    found.treebanks = Path(found.treebanks)
    return found


def style_of(parser: arcspan.Parser, part: Part) -> str | None:
    """The style of a treebank; the default of a model that does not have it."""
    return part.style if part.style in parser.styles else None


def score_part(
    parser: arcspan.Parser, part: Part, files: dict[str, str], limit: int | None
) -> dict[str, Any]:
    """All figures of a part from its own words, and of its genres."""
    given = (
        files["ptb"] if "c" in part.layers else None,
        files["conllu"] if "d" in part.layers else None,
    )
    gold = list(read_pairs(*given))
    sentences = list(read_conllu(files["conllu"])) if "d" in part.layers else []
    if part.treebank == "childes":
        held_out = len(gold) * 9 // 10  # as speech.py splits it
        gold = gold[held_out:]
        sentences = sentences[held_out:]
    gold = gold[:limit]
    sentences = sentences[:limit]
    parses = list(
        parser.pipe((pair.words for pair in gold), batch_size=256, style=style_of(parser, part))
    )
    names = [sentence.sent_id or "" for sentence in sentences]
    entry = figures(part, gold, parses)
    if "d" in part.layers:
        entry["conll18"] = conll18(sentences, parses)
    if part.treebank == "gum":
        rules = read_rules(HERE / "rules" / "gum.toml")
        mended = [rewrite(pair, rules) for pair in gold]
        entry["rewritten"] = round(evaluate(mended, pairs(parses), tags="gold").f1, 2)
        if part.name == "gum dev":
            entry["errors"] = errors(mended, pairs(parses))
    if part.treebank == "masc" and part.style is None:
        rules = read_rules(HERE / "rules" / "masc-flat.toml")
        flat = [rewrite(pair, rules) for pair in gold]
        entry["flat"] = round(evaluate(flat, pairs(parses), tags="gold").f1, 2)
    if part.genre:
        places = defaultdict(list)
        for place, name in enumerate(names[: len(gold)]):
            genre = part.genre(name)
            places[genre].append(place)
            if part.treebank == "gum":
                places["(not trained on)" if genre in NOT_FREE else "(trained on)"].append(place)
        entry["genres"] = {
            genre: figures(part, [gold[k] for k in own], [parses[k] for k in own])
            for genre, own in sorted(places.items())
        }
    return entry


def figures(part: Part, gold: Sequence[Pair], parses: Sequence[Any]) -> dict[str, Any]:
    """The figures of some sentences."""
    found: dict[str, Any] = {"sentences": len(gold), "words": sum(len(pair.words) for pair in gold)}
    predicted = pairs(parses)
    if "d" in part.layers:
        counted = evaluate(gold, predicted, punctuation="none", subtypes=False, tags="gold")
        found |= rounded(counted.figures(), {"las": "las", "uas": "uas"})
        found["las_subtypes"] = round(
            evaluate(gold, predicted, punctuation="none", tags="gold").las, 2
        )
    without = evaluate(gold, predicted, punctuation="ptb", subtypes=False, tags="gold").figures()
    if "d" in part.layers:
        found |= rounded(without, {"las_words": "las", "uas_words": "uas"})
    names = ("tag_accuracy", "upos_accuracy", "lemma_accuracy", "feature_accuracy")
    return found | rounded(without, TREES | {name: name for name in names})


def rounded(values: dict[str, float], names: dict[str, str]) -> dict[str, float]:
    """Figures with two decimals under other names; those that are not there are left out."""
    return {name: round(values[own], 2) for name, own in names.items() if own in values}


def pairs(parses: Sequence[Any]) -> list[Pair]:
    return [Pair(parse.constituency, parse.dependencies) for parse in parses]


def score_raw(parser: arcspan.Parser, part: Part, conllu: str, entry: dict[str, Any]) -> None:
    """Add the CoNLL 2018 figures from raw text, of the whole and of every genre."""
    gold: list[list[ConlluSentence]] = []
    for sentence in read_conllu(conllu):
        if not gold or sentence.comment("newdoc id"):
            gold.append([])
        gold[-1].append(sentence)
    texts = [plain_text(document)[0] for document in documents(conllu)]
    parses = [parser(text, style=style_of(parser, part)) for text in texts]
    places = defaultdict(list)
    for place, document in enumerate(gold):
        if part.genre:
            places[part.genre(document[0].sent_id or "")].append(place)

    def of(own: Iterable[int]) -> dict[str, float]:
        chosen = list(own)
        return conll18(
            [one for k in chosen for one in gold[k]], [one for k in chosen for one in parses[k]]
        )

    entry["raw"] = of(range(len(gold)))
    for genre, own in places.items():
        entry["genres"][genre]["raw"] = of(own)


def score_case(parser: arcspan.Parser, part: Part, conllu: str, entry: dict[str, Any]) -> None:
    """Add the LAS of the same words without capitals, and in capitals only."""
    gold = list(read_pairs(None, conllu))
    for name, case in (("las_lower", str.lower), ("las_upper", str.upper)):
        words = ([case(word) for word in pair.words] for pair in gold)
        parses = list(parser.pipe(words, batch_size=256, style=style_of(parser, part)))
        wanted = [
            Pair(parse.constituency, pair.dependencies.with_words(parse.words))
            for pair, parse in zip(gold, parses, strict=True)
        ]
        entry[name] = round(
            evaluate(wanted, pairs(parses), punctuation="none", subtypes=False).las, 2
        )


def errors(gold: Sequence[Pair], predicted: Sequence[Pair]) -> dict[str, Any]:
    """What is wrong most often: constituents, and relations of words whose head is right or not."""
    found = evaluate(gold, predicted, punctuation="none", subtypes=False, tags="gold")
    relations = Counter[str]()
    heads = Counter[str]()
    totals = Counter[str]()
    for (wanted, got, at_head), count in found.relation_confusion.items():
        totals[wanted] += count
        if not at_head:
            heads[wanted] += count
        elif wanted != got:
            relations[wanted] += count
    confusion = found.label_confusion.items()
    labels = Counter(
        {(a or NOTHING, b or NOTHING): count for (a, b, _), count in confusion if a != b}
    )
    return {
        "labels": [[*pair, count] for pair, count in labels.most_common(MOST)],
        "relations": [
            [name, totals[name], heads[name], relations[name]]
            for name, _ in (heads + relations).most_common(MOST)
        ],
    }


def conll18(gold: Any, parses: Sequence[Any]) -> dict[str, float]:
    found = evaluate_raw(gold, parses).figures()
    return {name: round(found[name], 2) for name in RAW}


if __name__ == "__main__":
    main()
