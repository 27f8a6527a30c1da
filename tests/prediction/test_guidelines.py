"""Relations that obey the guidelines: against all combinations, and in every way to a parse."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import arcspan
from arcspan.parser import Parser
from arcspan.prediction.guidelines import Guidelines, are_universal
from arcspan.prediction.outputs import Inventories
from arcspan.prediction.pictograms import find_pictograms
from arcspan.prediction.results import Prediction
from tests.decoding.all_trees import lexicalized_trees
from tests.runtime.random_bundles import RandomBundle, load, sentences

RELATIONS = (
    "root",
    "nsubj",
    "nsubj:outer",
    "csubj",
    "obj",
    "iobj",
    "case",
    "punct",
    "advmod",
    "flat",
    "dep",
)
KNOWN = Inventories(((),), RELATIONS, (), ("NOUN", "PART", "ADV"), features=("_", "Polarity=Neg"))
SUBJECTS = {"nsubj", "csubj"}
UNDER_CASE = {"advmod", "punct"}


def obeys(relations: list[str], heads: list[int], negations: list[bool] | None = None) -> bool:
    """The guidelines for these few relations, written out."""
    for m, (relation, h) in enumerate(zip(relations, heads, strict=True), 1):
        if (relation == "root") != (h == 0) or (relation == "flat" and m < h):
            return False
        if h and relations[h - 1] == "case" and relation not in UNDER_CASE:
            return False
        if h and relations[h - 1] == "punct" and relation != "punct":
            return False
    for h in set(heads):
        below = [relation for relation, head in zip(relations, heads, strict=True) if head == h]
        subjects = sum(relation in SUBJECTS for relation in below)
        if subjects > 1 or below.count("obj") > 1 or below.count("iobj") > 1:
            return False
    return True


def random_case(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    trees = lexicalized_trees(n)
    heads = np.asarray(trees[draw.integers(len(trees))].heads[1:])
    scores = draw.normal(0, 1, (n, len(RELATIONS)))
    scores[:, 1:5] += 1  # most often a second subject or object is what scores best
    return scores, heads


@pytest.mark.parametrize(("n", "seed"), [(1, 1), (2, 2), (3, 3), (4, 4), (4, 5), (4, 6), (4, 7)])
def test_no_other_relations_that_obey_are_better(n: int, seed: int) -> None:
    scores, heads = random_case(n, seed)
    relations, _ = Guidelines(KNOWN).choose(scores, heads, np.asarray([n]), {})
    best = max(
        sum(scores[m, r] for m, r in enumerate(candidate))
        for candidate in product(range(len(RELATIONS)), repeat=n)
        if obeys([RELATIONS[r] for r in candidate], heads.tolist())
    )
    assert obeys([RELATIONS[r] for r in relations], heads.tolist())
    assert sum(scores[m, r] for m, r in enumerate(relations)) == pytest.approx(best)


def test_a_word_with_many_dependents_has_one_subject_and_one_object() -> None:
    """Against all combinations again: five dependents of one word, four relations."""
    relations = ("root", "nsubj", "obj", "dep")
    guidelines = Guidelines(Inventories(((),), relations, (), ()))
    heads = np.asarray([2, 0, 2, 2, 2, 2])
    for seed in range(10):
        scores = np.random.default_rng(seed).normal(0, 1, (6, 4))
        assigned, _ = guidelines.choose(scores, heads, np.asarray([6]), {})
        best = max(
            sum(scores[m, r] for m, r in enumerate(candidate))
            for candidate in product(range(4), repeat=6)
            if obeys([relations[r] for r in candidate], heads.tolist())
        )
        assert sum(scores[m, r] for m, r in enumerate(assigned)) == pytest.approx(best)


def test_sentences_of_a_batch_do_not_change_each_other() -> None:
    guidelines = Guidelines(KNOWN)
    cases = [random_case(n, seed) for seed, n in enumerate([3, 4, 1, 4, 2, 4])]
    lengths = np.asarray([len(heads) for _, heads in cases])
    together, _ = guidelines.choose(
        np.concatenate([scores for scores, _ in cases]),
        np.concatenate([h for _, h in cases]),
        lengths,
        {},
    )
    alone = [
        guidelines.choose(scores, heads, np.asarray([len(heads)]), {})[0] for scores, heads in cases
    ]
    assert together.tolist() == np.concatenate(alone).tolist()


def test_relations_that_obey_stay_as_they_are() -> None:
    heads = np.asarray([2, 0, 2])
    scores = np.zeros((3, len(RELATIONS)))
    obeying = [RELATIONS.index(name) for name in ("nsubj", "root", "obj")]
    scores[range(3), obeying] = 1
    relations, _ = Guidelines(KNOWN).choose(scores, heads, np.asarray([3]), {})
    assert relations.tolist() == obeying


@pytest.mark.parametrize(
    ("upos", "features", "expected"),
    [
        ("PART", "Polarity=Neg", "case"),
        ("ADV", "Polarity=Neg", "case"),
        ("ADV", "_", "dep"),
        ("NOUN", "Polarity=Neg", "dep"),
        ("PART", None, "case"),
        ("ADV", None, "dep"),
        (None, None, "case"),
    ],
)
def test_only_a_negation_may_depend_on_an_auxiliary(
    upos: str | None, features: str | None, expected: str
) -> None:
    relations = ("root", "nsubj", "obj", "aux", "advmod", "dep")
    inventories = Inventories(
        ((),), relations, (), ("NOUN", "PART", "ADV", "AUX"), features=("_", "Polarity=Neg")
    )
    heads = np.asarray([2, 3, 0])  # the first word depends on the auxiliary before the root
    scores = np.full((3, 6), -9.0)
    scores[[0, 1, 2], [4, 3, 0]] = 9
    scores[1, 5] = 8
    words = {}
    if upos is not None:
        words["upos"] = np.asarray([inventories.upos.index(tag) for tag in (upos, "AUX", "NOUN")])
    if features is not None:
        words["feature"] = np.full(3, inventories.features.index(features))
    assigned, _ = Guidelines(inventories).choose(scores, heads, np.asarray([3]), words)
    assert relations[assigned[1]] == {"case": "aux"}.get(expected, expected)


def test_punctuation_governs_no_negation() -> None:
    relations = ("root", "nsubj", "obj", "punct", "advmod", "det")
    inventories = Inventories(((),), relations, (), ())
    # The first word depends on the second, which is punctuation or a determiner before the root.
    heads = np.asarray([2, 3, 0])
    scores = np.full((3, 6), -9.0)
    scores[[0, 1, 2], [4, 3, 0]] = 9
    scores[1, 5] = 8
    # Without tags, every word may be a negation.
    assigned, _ = Guidelines(inventories).choose(scores, heads, np.asarray([3]), {})
    assert [relations[r] for r in assigned] == ["advmod", "det", "root"]


def test_where_no_relations_obey_the_best_ones_stay() -> None:
    inventories = Inventories(((),), ("root", "nsubj", "obj"), (), ())
    heads = np.asarray([0, 1, 1, 1])  # three dependents, and two names that one each may have
    scores = np.random.default_rng(3).normal(size=(4, 3))
    relations, _ = Guidelines(inventories).choose(scores, heads, np.asarray([4]), {})
    assert (relations == scores.argmax(1)).all()


def test_relations_of_other_schemes_have_no_guidelines() -> None:
    assert are_universal(["nsubj:pass", "obj", "root", "x"])
    assert not are_universal(["nsubj", "dobj", "root"])
    assert not are_universal([])


def assert_obeys(parse: arcspan.Parse) -> None:
    tree = parse.dependencies
    for m, (h, relation) in enumerate(zip(tree.heads, tree.relations, strict=True), 1):
        assert (h == 0) == (relation == "root"), m
    unique_relations = [
        (h, name)
        for h, name in zip(tree.heads, tree.relations, strict=True)
        if name in ("nsubj", "obj")
    ]
    assert len(unique_relations) == len(set(unique_relations))


def test_parses_of_every_kind_obey(bundle: RandomBundle) -> None:
    parser = Parser(bundle.folder)
    for words in sentences(12, longest=14, seed=4):
        assert_obeys(parser.parse(words))
        if len(bundle.models) == 1:
            for parse in parser.parse(words, k=3):
                assert_obeys(parse)
            if len(words) > 2:
                assert_obeys(parser.parse(words, require=[arcspan.Arc(2, 1)]))


def test_a_sentence_in_pieces_obeys(bundle: RandomBundle) -> None:
    words = [word for sentence in sentences(20, seed=3) for word in sentence][:150]
    parse = Parser(bundle.folder, memory_limit=load(bundle.folder).model.chart_bytes(30)).parse(
        words
    )
    assert parse.approximate
    assert_obeys(parse)


def test_guidelines_can_be_switched_off(joint2o: RandomBundle) -> None:
    words = sentences(12, longest=14, seed=4)
    plain, obeying = (load(joint2o.folder, guidelines=on).predict(words) for on in (False, True))

    def columns(name: str, predictions: list[Prediction]) -> list[list[int]]:
        return [getattr(prediction, name).tolist() for prediction in predictions]

    assert columns("heads", plain) == columns("heads", obeying)
    assert columns("relations", plain) != columns("relations", obeying)
    assert [prediction.score for prediction in plain] == [
        prediction.score for prediction in obeying
    ]


TAGS = ("NOUN", "ADV", "PUNCT", "X", "SYM", "ADP")
FEATURES = ("_", "Number=Sing", "Number=Sing|Typo=Yes", "Typo=Yes", "ExtPos=ADV")
TAGGED = Inventories(((),), ("root", "nsubj", "obj", "advmod", "punct", "goeswith", "discourse"),
                     (), TAGS, features=FEATURES)  # fmt: skip
GO_WITH = {"advmod": {"ADV", "SYM"}, "punct": {"PUNCT"}, "goeswith": {"X"}}


def obeys_with_tags(relations: list[str], tags: list[str], heads: list[int]) -> bool:
    """Return whether relations and tags obey the guidelines for these few, written out."""
    for m, (relation, tag, h) in enumerate(zip(relations, tags, heads, strict=True), 1):
        if (relation == "root") != (h == 0):
            return False
        if tag == "PUNCT" and relation not in ("punct", "root"):
            return False
        if relation in GO_WITH and tag not in GO_WITH[relation]:
            return False
        if relation == "goeswith" and (m < h or any(k != h for k in heads[h : m - 1])):
            return False
        if h and (relations[h - 1] == "goeswith" or (relations[h - 1] == "punct" != relation)):
            return False
    for h in set(heads):
        below = [relation for relation, head in zip(relations, heads, strict=True) if head == h]
        if below.count("nsubj") > 1 or below.count("obj") > 1:
            return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_no_other_relations_and_tags_that_obey_are_better_together(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n = 3
    trees = lexicalized_trees(n)
    heads = np.asarray(trees[draw.integers(len(trees))].heads[1:])
    scores = draw.normal(0, 1, (n, len(TAGGED.relations)))
    tag_scores = draw.normal(0, 1, (n, len(TAGS)))
    words = {"upos": tag_scores.argmax(1)}
    relations, new_words = Guidelines(TAGGED).choose(
        scores, heads, np.asarray([n]), words, tag_scores
    )
    candidates = []
    for pairs in product(product(range(len(TAGGED.relations)), range(len(TAGS))), repeat=n):
        names = [TAGGED.relations[r] for r, _ in pairs]
        if obeys_with_tags(names, [TAGS[tag] for _, tag in pairs], heads.tolist()):
            total = sum(scores[m, r] + tag_scores[m, tag] for m, (r, tag) in enumerate(pairs))
            candidates.append(total)
    pairs = list(zip(relations.tolist(), new_words["upos"].tolist(), strict=True))
    total = sum(scores[m, r] + tag_scores[m, tag] for m, (r, tag) in enumerate(pairs))
    assert total == pytest.approx(max(candidates))


def choose_tagged(
    relations: list[str], tags: list[str], features: list[str], heads: list[int]
) -> tuple[list[str], list[str], list[str]]:
    """Return relations, tags and features by the guidelines, where each of these is the best."""
    n = len(heads)
    scores = np.zeros((n, len(TAGGED.relations)))
    scores[range(n), [TAGGED.relations.index(name) for name in relations]] = 5
    tag_scores = np.zeros((n, len(TAGS)))
    tag_scores[range(n), [TAGS.index(tag) for tag in tags]] = 3
    words = {
        "upos": tag_scores.argmax(1),
        "feature": np.asarray([FEATURES.index(bundle) for bundle in features]),
    }
    chosen, new_words = Guidelines(TAGGED).choose(
        scores, np.asarray(heads), np.asarray([n]), words, tag_scores
    )
    return (
        [TAGGED.relations[r] for r in chosen],
        [TAGS[tag] for tag in new_words["upos"]],
        [FEATURES[bundle] for bundle in new_words["feature"]],
    )


def test_features_of_a_broken_word_stand_at_its_first_part() -> None:
    relations, tags, features = choose_tagged(
        ["root", "goeswith", "goeswith"], ["NOUN", "NOUN", "X"],
        ["Number=Sing", "Number=Sing", "_"], [0, 1, 1],
    )  # fmt: skip
    assert relations == ["root", "goeswith", "goeswith"]
    assert tags == ["NOUN", "X", "X"]
    assert features == ["Number=Sing|Typo=Yes", "_", "_"]


def test_punctuation_has_its_tag_and_no_features() -> None:
    relations, tags, features = choose_tagged(
        ["root", "punct"], ["NOUN", "SYM"], ["_", "Number=Sing"], [0, 1]
    )
    assert (relations, tags, features) == (["root", "punct"], ["NOUN", "PUNCT"], ["_", "_"])


def test_an_external_tag_counts_in_place_of_the_word_s() -> None:
    relations, tags, features = choose_tagged(
        ["root", "advmod"], ["NOUN", "ADP"], ["_", "ExtPos=ADV"], [0, 1]
    )
    assert (relations[1], tags[1], features[1]) == ("advmod", "ADP", "ExtPos=ADV")
    _, tags, _ = choose_tagged(["root", "advmod"], ["NOUN", "ADP"], ["_", "_"], [0, 1])
    assert tags[1] == "ADV"


def test_lemmas_of_a_broken_word_are_joined_at_its_first_part() -> None:
    inventories = Inventories(
        ((),), ("root", "goeswith", "obj"), (), ("NOUN", "X"), ("l|0+|0+", "k|0+|0+")
    )
    prediction = Prediction(
        heads=np.asarray([0, 1, 1, 5, 1]),
        relations=np.asarray([0, 1, 2, 2, 1]),
        words={"lemma": np.asarray([0, 0, 1, 1, 0])},
        inventories=inventories,
    )
    lemmas = prediction.column("lemma", ["Over", "Priced", "Food", "Bar", "Bell"])
    assert lemmas == ("overpricedbell", "", "Food", "Bar", "")


def test_a_first_part_with_the_lemma_of_the_whole_word_keeps_it() -> None:
    inventories = Inventories(
        ((),), ("root", "goeswith"), (), ("VERB", "X"), ("l|0+|0+pay", "l|0+|0+")
    )
    prediction = Prediction(
        heads=np.asarray([0, 1]),
        relations=np.asarray([0, 1]),
        words={"lemma": np.asarray([0, 1])},
        inventories=inventories,
    )
    assert prediction.column("lemma", ["over", "paid"]) == ("overpay", "")


EVERYDAY = (
    "I love this so much 😀",
    "😀 I love this!",
    "Thanks for the help :)",
    "My dog 🐶 is sleeping on the couch.",
    "That movie was great 😂😂 and I want to see it again.",
    "Happy birthday 🎂 🎉!",
    "We won the game :D so happy",
    "lol ;-) see you tomorrow",
    "I miss you <3",
    "No way 😱 she said yes 💍",
)


@pytest.mark.parametrize("text", EVERYDAY)
def test_pictograms_are_discourse_without_dependents(text: str) -> None:
    parser = arcspan.load()
    (parse,) = parser(text)
    positions = find_pictograms(parse.words)
    assert positions
    for m in positions:
        assert parse.relations[m - 1] in ("discourse", "punct")
        assert m not in parse.heads


def test_a_constraint_may_require_a_pictogram_with_dependents() -> None:
    parse = arcspan.load().parse(["My", "🐶", "sleeps"], require=[arcspan.Arc(2, 1)])
    assert parse.heads[0] == 2


def test_a_sentence_of_pictograms_has_one_of_them_as_root() -> None:
    parse = arcspan.load().parse(["😀", "!"])
    assert parse.heads == (0, 1)
