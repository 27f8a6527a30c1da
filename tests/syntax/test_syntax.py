"""Clauses, coordinations, noun phrases and verb groups."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcspan.errors import ArcspanError
from arcspan.syntax import Phrase, Syntax
from arcspan.treebanks import read_pairs
from arcspan.trees import ConstituencyTree, DependencyTree

STUDY = Path(__file__).resolve().parents[2] / "studies" / "syntax"
PAIRS = {" ".join(c.words): (c, d) for c, d in read_pairs(STUDY / "own.ptb", STUDY / "own.conllu")}


def syntax(sentence: str, **options: object) -> Syntax:
    """One of the study's sentences, by its first words."""
    (analysis,) = [pair for text, pair in PAIRS.items() if text.startswith(sentence)]
    return Syntax(*analysis, **options)  # type: ignore[arg-type]


def test_a_sentence_shows_its_words_at_the_prompt() -> None:
    tree = DependencyTree([2, 0], ["nsubj", "root"], ["Fish", "swim"])
    assert repr(Syntax(None, tree)) == "Syntax('Fish swim')"


def texts(phrases: list[Phrase]) -> list[str]:
    return [phrase.text for phrase in phrases]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check", STUDY / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("sentence", PAIRS)
def test_answers_written_by_hand_are_found_in_gold_trees(sentence: str, check: ModuleType) -> None:
    answers = check.answers(STUDY / "own.txt")[sentence]
    analysis = check.analyses(Syntax(*PAIRS[sentence]), False)
    for letter, lines in answers.items():
        # Only sentences about verbs have answers for verb groups.
        if letter != "v" or lines:
            assert sorted(analysis[letter]) == sorted(lines)


@pytest.mark.parametrize(
    ("sentence", "verb", "subject"),
    [
        ("He wants to buy", "buy", "He"),
        ("The teacher asked", "read", "the students"),
        ("The dog that", "chased", "The dog"),
        ("The man standing", "standing", "The man"),
        ("He was seen", "leaving", "He"),
        ("She said she would call", "ask", "she"),
        ("Having finished", "finished", None),  # the trees do not say it
        ("The company , which", "founded", "The company"),
    ],
)
def test_subjects_are_found_where_the_trees_lead_to_them(
    sentence: str, verb: str, subject: str | None
) -> None:
    analysis = syntax(sentence)
    phrase = analysis.subject_of(analysis.words.index(verb))
    assert (phrase and phrase.text) == subject


def test_objects_stand_for_relative_pronouns() -> None:
    c = ConstituencyTree.from_brackets(
        "(NP (NP (NNS books)) (SBAR (WHNP (WDT that)) (S (NP (PRP I)) (VP (VBP read)))))"
    )
    d = DependencyTree([0, 4, 4, 1], ["root", "obj", "nsubj", "acl:relcl"], c.words, c.tags)
    assert texts(Syntax(c, d).objects_of(4)) == ["books"]
    assert texts(Syntax(c, d).clauses[0].objects) == ["that"]


@pytest.mark.parametrize(
    ("sentence", "text", "expected"),
    [
        ("You must not", "must not open", ("finite", None, "simple", "active", "negative", "must")),
        (
            "The letter was written",
            "was written",
            ("finite", "past", "simple", "passive", "positive", None),
        ),
        (
            "The students will",
            "will have been working",
            ("finite", "future", "perfect progressive", "active"),
        ),
        (
            "They are building",
            "are building",
            ("finite", "present", "progressive", "active", "positive"),
        ),
        ("They did n't", "did n't know", ("finite", "past", "simple", "active", "negative")),
        (
            "She has never",
            "has never been invited",
            ("finite", "present", "perfect", "passive", "negative"),
        ),
        ("To learn", "learn", ("infinitive", None, "simple")),
        ("Running", "Running", ("participle", None)),
        ("Close the", "Close", ("finite", "present")),
    ],
)
def test_verb_groups_have_tense_aspect_voice_and_polarity(
    sentence: str, text: str, expected: tuple[str | None, ...]
) -> None:
    verb = syntax(sentence).verb_groups[0]
    assert verb.text == text
    names = ("form", "tense", "aspect", "voice", "polarity", "modal")
    assert tuple(getattr(verb, name) for name in names)[: len(expected)] == expected


def tagged(words: str, tags: str, heads: list[int], relations: str) -> Syntax:
    """A sentence without constituents and lemmas; relations are separated by spaces."""
    return Syntax(None, DependencyTree(heads, relations.split(), words.split(), tags.split()))


@pytest.mark.parametrize(
    ("auxiliary", "tag", "tense", "modal"),
    [
        ("'ll", "MD", "future", "will"),
        ("’ll", "MD", "future", "will"),
        ("wo", "MD", "future", "will"),
        ("Sha", "MD", "future", "shall"),
        ("shall", "MD", "future", "shall"),
        ("wont", "MD", "future", "will"),
        ("ca", "MD", None, "can"),
        ("'d", "MD", None, "would"),
        ("must", "MD", None, "must"),
        ("did", "VBD", "past", None),
    ],
)
def test_auxiliaries_without_lemmas_are_told_by_their_forms(
    auxiliary: str, tag: str, tense: str | None, modal: str | None
) -> None:
    (verb,) = tagged(f"I {auxiliary} go", f"PRP {tag} VB", [3, 3, 0], "nsubj aux root").verb_groups
    assert (verb.tense, verb.modal, verb.aspect) == (tense, modal, "simple")


@pytest.mark.parametrize(
    ("words", "tags", "polarity"),
    [
        ("do nt", "VBP RB", "negative"),
        ("dont", "VBP", "negative"),
        ("don’t", "VBP", "negative"),
        ("did n’t", "VBD RB", "negative"),
        ("cannot", "MD", "negative"),
        ("would", "MD", "positive"),
        ("do often", "VBP RB", "positive"),
    ],
)
def test_negations_are_known_in_every_spelling(words: str, tags: str, polarity: str) -> None:
    n = len(words.split())
    heads = [n + 2] * (n + 1) + [0]
    relations = ["nsubj", "aux", "advmod"][: n + 1]
    (verb,) = tagged(
        f"I {words} go", f"PRP {tags} VB", heads, " ".join([*relations, "root"])
    ).verb_groups
    assert verb.polarity == polarity
    # The negation is a part of the group, an adverb is not.
    assert verb.text == ("do go" if "often" in words else f"{words} go")


def test_the_form_of_the_verb_decides_its_aspect() -> None:
    """The ending -ing made "bring" progressive."""
    for auxiliaries, tags, main, tag, aspect in (
        ("will", "MD", "bring", "VB", "simple"),
        ("is", "VBZ", "bringing", "VBG", "progressive"),
        ("'s", "VBZ", "bringing", "VBG", "progressive"),
        ("'s been", "VBZ VBN", "bringing", "VBG", "perfect progressive"),
        ("has been", "VBZ VBN", "bringing", "VBG", "perfect progressive"),
        ("'ve", "VBP", "brought", "VBN", "perfect"),
        ("'d", "VBD", "brought", "VBD", "perfect"),
        ("was being", "VBD VBG", "brought", "VBN", "progressive"),
    ):
        n = len(auxiliaries.split())
        heads = [n + 2] * (n + 1) + [0]
        relations = f"nsubj {'aux ' * n}root"
        words = f"She {auxiliaries} {main}"
        (verb,) = tagged(words, f"PRP {tags} {tag}", heads, relations).verb_groups
        assert verb.aspect == aspect, words


def test_without_tags_features_or_endings_tell_participles() -> None:
    features = ["", "Tense=Pres|VerbForm=Fin", "Tense=Pres|VerbForm=Part"]
    tree = DependencyTree(
        [3, 3, 0], ["nsubj", "aux", "root"], ["It", "is", "sung"], upos=["PRON", "AUX", "VERB"]
    )
    told = DependencyTree(tree.heads, tree.relations, tree.words, upos=tree.upos, features=features)
    assert [Syntax(None, d).verb_groups[0].aspect for d in (tree, told)] == [
        "simple",
        "progressive",
    ]
    running = DependencyTree(tree.heads, tree.relations, ["It", "is", "running"], upos=tree.upos)
    assert Syntax(None, running).verb_groups[0].aspect == "progressive"


def test_without_constituents_conjuncts_share_auxiliaries_unless_they_are_finite() -> None:
    heads, relations = [4, 4, 4, 0, 6, 4], "nsubj aux advmod root cc conj"
    shared = tagged("I did n't see or hear", "PRP VBD RB VB CC VB", heads, relations)
    assert [verb.text for verb in shared.verb_groups] == ["did n't see", "did n't hear"]
    finite = tagged("I did n't see and left", "PRP VBD RB VB CC VBD", heads, relations)
    assert [verb.text for verb in finite.verb_groups] == ["did n't see", "left"]


def test_a_conjunct_may_have_another_voice_than_the_first() -> None:
    heads, relations = [3, 3, 0, 5, 3], "nsubj:pass aux:pass root cc conj"
    verbs = tagged("He was arrested and crying", "PRP VBD VBN CC VBG", heads, relations).verb_groups
    assert [(verb.aspect, verb.voice) for verb in verbs] == [
        ("simple", "passive"),
        ("progressive", "active"),
    ]


def test_an_auxiliary_that_is_not_finite_has_the_shared_one_before_it() -> None:
    c = ConstituencyTree.from_brackets(
        "(S (NP (PRP It)) (VP (MD will) (VP (VP (VB be) (VP (VBN sold))) (CC and) (VP (VB be) (VP (VBN sent))))))"
    )
    relations = ["nsubj:pass", "aux", "aux:pass", "root", "cc", "aux:pass", "conj"]
    d = DependencyTree([4, 4, 4, 0, 7, 7, 4], relations, c.words, c.tags)
    assert [verb.text for verb in Syntax(c, d).verb_groups] == ["will be sold", "will be sent"]


def test_an_infinitive_is_one_in_all_conjuncts() -> None:
    heads, relations = [2, 0, 4, 2, 6, 4], "nsubj root mark xcomp cc conj"
    verbs = tagged("He wants to eat and drink", "PRP VBZ TO VB CC VB", heads, relations).verb_groups
    assert [verb.form for verb in verbs] == ["finite", "infinitive", "infinitive"]


def test_main_clauses_have_no_parents() -> None:
    """False starts and other fragments are main clauses wherever they hang."""
    heads, relations = [2, 5, 2, 5, 0], "nsubj reparandum punct nsubj root"
    clauses = tagged("I sa- – I said", "PRP VBD : PRP VBD", heads, relations).clauses
    assert [(clause.kind, clause.parent) for clause in clauses] == [("main", None)] * 2


def test_false_starts_and_fillers_do_not_end_a_base_noun_phrase() -> None:
    heads, relations = [4, 4, 4, 0], "det reparandum discourse root"
    analysis = tagged("a re- uh report", "DT NN UH NN", heads, relations)
    assert texts(analysis.noun_phrases()) == ["a re- uh report"]
    assert texts(analysis.noun_phrases("maximal")) == ["a re- uh report"]


def test_the_pronoun_of_a_free_relative_is_its_subject_if_it_has_no_other() -> None:
    analysis = syntax("What happened")
    assert str(analysis.subject_of(2)) == "What"
    assert str(syntax("She ate what").clauses[1]) == "what he had cooked"


def test_a_bare_verb_below_another_is_an_infinitive() -> None:
    verbs = tagged(
        "He made me laugh", "PRP VBD PRP VB", [2, 0, 2, 2], "nsubj root obj xcomp"
    ).verb_groups
    assert [verb.form for verb in verbs] == ["finite", "infinitive"]


def test_an_expletive_is_the_subject_of_a_clause_without_another() -> None:
    (clause,) = tagged("There rains", "EX VBZ", [2, 0], "expl root").clauses
    assert str(clause.subject) == "There"


def test_a_possessor_is_a_base_phrase_with_its_marker() -> None:
    analysis = tagged("the old girl 's", "DT JJ NN POS", [3, 3, 0, 3], "det amod root case")
    assert texts(analysis.noun_phrases()) == ["the old girl 's"]
    # A preposition further on is none.
    apart = tagged("girl , to", "NN , IN", [0, 1, 1], "root punct case")
    assert texts(apart.noun_phrases()) == ["girl"]


def test_without_constituents_a_whole_phrase_has_its_possessive_marker() -> None:
    heads, relations = [2, 4, 2, 5, 0], "det nmod:poss case nsubj root"
    analysis = tagged("the girl 's dog barks", "DT NN POS NN VBZ", heads, relations)
    assert texts(analysis.noun_phrases("all")) == ["the girl 's dog", "the girl 's"]


def test_the_preposition_before_a_noun_is_not_in_its_phrase() -> None:
    analysis = tagged("sit in chairs", "VB IN NNS", [0, 3, 1], "root case obl")
    assert texts(analysis.noun_phrases("all")) == ["chairs"]


@pytest.mark.parametrize("pair", ["( )", "[ ]", "{ }", "“ ”", "‘ ’", "`` ''", "« »", '" "'])
def test_brackets_and_quotes_stay_with_their_partners(pair: str) -> None:
    opening, closing = pair.split()
    heads, relations = [2, 0, 4, 2, 4, 2], "punct root punct appos punct punct"
    words = f"{opening} Ann {opening} Smith {closing} ,"
    analysis = tagged(words, ": NNP : NNP : ,", heads, relations)
    # The first has a partner inside, as far as that is no edge; the comma has none.
    assert analysis.trim(0, 6, 2) == (0, 5)
    assert analysis.trim(2, 5, 4) == (3, 4)


def test_coordinators_are_words() -> None:
    (joined,) = syntax("They bought and sold").coordinations
    assert joined.coordinators == [joined.coordinator] and joined.coordinator.position == 3
    assert joined.to_dict()["coordinators"] == [3]


def test_plain_data_has_the_fields_of_every_class() -> None:
    data = syntax("They bought and sold").to_dict()
    assert list(data["clauses"][0]) == [
        *("kind", "finite", "text", "span", "head", "verb", "subject", "objects", "parent"),
    ]
    assert data["clauses"][0]["verb"]["words"] == [2] and data["clauses"][0]["kind"] == "main"
    assert list(data["coordinations"][0])[:2] == ["kind", "text"]


def test_words_with_offsets_but_without_a_text_have_spaces() -> None:
    c, d = PAIRS["Running is healthy ."]
    offsets = [(10, 17), (18, 20), (21, 28), (28, 29)]
    assert Syntax(c, d, offsets=offsets).clauses[0].text == "Running is healthy"


def test_a_predicate_that_is_shared_is_shown_with_its_clause() -> None:
    """A noun as the predicate of a shared clause was shown without its subject."""
    (joined,) = syntax("When he was a boy").coordinations
    assert texts(joined.shared) == ["When he was a boy", "he"]


def test_constituents_decide_what_is_shared() -> None:
    d = DependencyTree(
        [2, 0, 4, 2],
        ["amod", "root", "cc", "conj"],
        ["old", "men", "and", "women"],
        ["JJ", "NNS", "CC", "NNS"],
    )
    flat = ConstituencyTree.from_brackets("(NP (JJ old) (NNS men) (CC and) (NNS women))")
    nested = ConstituencyTree.from_brackets(
        "(NP (NP (JJ old) (NNS men)) (CC and) (NP (NNS women)))"
    )
    for tree, first, shared in (
        (flat, "men", ["old"]),
        (nested, "old men", []),
        (None, "old men", []),
    ):
        (joined,) = Syntax(tree, d).coordinations
        assert texts(joined.conjuncts) == [first, "women"] and texts(joined.shared) == shared


def test_not_only_is_no_negation_and_a_tag_question_is_not_shared() -> None:
    tree = DependencyTree(
        [3, 3, 0, 3, 7, 7, 3, 3, 8, 8],
        [
            "advmod",
            "advmod",
            "root",
            "nsubj",
            "cc",
            "nsubj",
            "conj",
            "parataxis",
            "advmod",
            "nsubj",
        ],
        ["Not", "only", "came", "he", "but", "she", "left", "did", "n't", "she"],
        None,
        ["PART", "ADV", "VERB", "PRON", "CCONJ", "PRON", "VERB", "AUX", "PART", "PRON"],
    )
    analysis = Syntax(None, tree)
    assert [verb.polarity for verb in analysis.verb_groups] == ["positive", "positive", "negative"]
    (joined,) = analysis.coordinations
    assert texts(joined.shared) == [] and joined.conjuncts[1].text == "she left"


def test_clauses_know_their_parents() -> None:
    analysis = {clause.text: clause for clause in syntax("If he had known").clauses}
    inner = analysis["what she had done"]
    assert inner.parent is analysis["If he had known what she had done"]
    assert inner.parent.parent is not None and inner.parent.parent.kind == "main"
    assert inner.parent.parent.parent is None


def test_noun_phrases_are_of_three_kinds() -> None:
    analysis = syntax("The president of the club")
    assert texts(analysis.noun_phrases("all")) == [
        "The president of the club and his deputy",
        "The president of the club",
        "the club",
        "his deputy",
        "Monday",
    ]
    assert analysis.noun_phrases("maximal")[0].head.text == "president"
    with pytest.raises(ArcspanError, match="'base', 'maximal' or 'all'"):
        analysis.noun_phrases("large")  # type: ignore[arg-type]


def test_without_dependencies_nothing_is_found() -> None:
    with pytest.raises(ArcspanError, match="need a dependency tree"):
        Syntax(ConstituencyTree.from_brackets("(NP (NN dog))"), None)


def test_phrases_point_into_the_text_and_have_probabilities() -> None:
    c, d = PAIRS["Running is healthy ."]
    sure = SimpleNamespace(arcs=[0.9, 0.8, 0.7, 1.0], relations=[0.5, 1.0, 1.0, 1.0])
    offsets = [(10, 17), (18, 20), (21, 28), (28, 29)]
    analysis = Syntax(c, d, text="Running is healthy.", offsets=offsets, confidence=lambda: sure)
    main, inner = analysis.clauses
    assert (main.text, main.start, main.end) == ("Running is healthy", 10, 28)
    assert inner.probability == pytest.approx(0.45) and main.probability == pytest.approx(0.7)
    data = json.loads(json.dumps(analysis.to_dict(probabilities=True)))
    assert data["clauses"][1]["parent"] == [0, 3] and data["clauses"][1][
        "probability"
    ] == pytest.approx(0.45)
    assert data["clauses"][0]["subject"] == {
        **{"text": "Running", "span": [0, 1], "head": 1, "start": 10, "end": 17},
        "probability": pytest.approx(0.45),
    }
    assert syntax("Running").clauses[0].probability is None


def test_conjuncts_of_a_word_are_all_others() -> None:
    analysis = syntax("Tom , Dick")
    assert [analysis.conjuncts(m) for m in (1, 3, 5, 6)] == [[3, 5], [1, 5], [1, 3], []]


def test_any_tree_can_be_asked() -> None:
    """Trees that do not fit each other, words without tags, a word without a tree around it."""
    odd = DependencyTree([3, 0, 2, 1], ["conj", "root", "acl", "conj"], list("abcd"))
    tree = ConstituencyTree(list("abcd"), None, [(0, 4, "S"), (1, 3, "NP")])
    assert Syntax(tree, odd).to_dict()["coordinations"]
    assert not any(Syntax(None, DependencyTree([], [])).to_dict().values())


def test_a_head_that_is_punctuation_stays_in_its_phrase() -> None:
    heads = [0, 1, 1, 1]
    relations = ["punct", "punct", "nsubj", "conj"]
    tree = DependencyTree(heads, relations, list("abcd"), ["NN"] * 4)
    (joined,) = Syntax(None, tree).coordinations
    assert texts(joined.conjuncts) == ["a b c", "d"]


RELATIONS = (
    "conj",
    "cc",
    "punct",
    "nsubj",
    "nsubj:outer",
    "acl",
    "acl:relcl",
    "xcomp",
    "cop",
    "aux",
    "obj",
    "nmod",
)


@settings(deadline=None)
@given(st.data())
def test_every_tree_gives_an_answer(data: st.DataObject) -> None:
    """A conjunct whose words are not in a row sent the search for its first word around for ever."""
    order = data.draw(st.permutations(range(1, data.draw(st.integers(1, 8)) + 1)))
    heads = {order[0]: 0}
    for k, m in enumerate(order[1:], 1):
        heads[m] = order[data.draw(st.integers(0, k - 1))]
    relations = [data.draw(st.sampled_from(RELATIONS)) for _ in order]
    tags = [data.draw(st.sampled_from(["VBD", "VBN", "NN", "JJ", "WP"])) for _ in order]
    tree = DependencyTree(
        [heads[m] for m in range(1, len(order) + 1)], relations, "abcdefgh"[: len(order)], tags
    )
    analysis = Syntax(None, tree)
    for phrase in (*analysis.clauses, *analysis.coordinations, *analysis.noun_phrases("all")):
        assert 0 <= phrase.span[0] < phrase.position <= phrase.span[1] <= len(tree)
    for m in order:
        analysis.subject_of(m)
