from __future__ import annotations

import importlib.metadata
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("spacy", reason="spaCy is not installed (arcspan[spacy])")

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from arcspan.errors import ArcspanError
from arcspan.integrations.spacy import ArcspanComponent, to_doc
from arcspan.parse import Parse
from arcspan.parser import Parser
from arcspan.runtime.bundle import read_bundle, update_bundle
from arcspan.trees import ConstituencyTree, DependencyTree, LexicalTree
from tests.toy import toy_pairs

TEXT = "  Ada sees the old tree.\n\nKurt plays here with every word of Logic!  The dog isn't here."


def pipeline(bundle: Path, **config: Any) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("arcspan", config={"model": str(bundle), "threads": 1, **config})
    return nlp


@pytest.fixture(scope="module")
def nlp(bundle: Path) -> Language:
    return pipeline(bundle)


def everything(doc: Doc) -> tuple[Any, ...]:
    """All that the component writes."""
    tokens = [
        (token.text, token.head.i, token.dep_, token.tag_, token.pos_, token.is_sent_start)
        for token in doc
    ]
    inner = [
        token._.constituent and (token._.constituent.start, token._.constituent.label_)
        for token in doc
    ]
    sents = [
        (sent._.parse_string, [(c.start, c.end, c.label_) for c in sent._.constituents])
        for sent in doc.sents
    ]
    return tokens, inner, sents


def test_spacy_finds_the_component_by_its_entry_point() -> None:
    entries = importlib.metadata.entry_points(group="spacy_factories", name="arcspan")
    if not entries:
        pytest.skip("arcspan is not installed, or by an older version: no entry point to look at")
    assert next(iter(entries)).load() is spacy.registry.factories.get("arcspan")


def test_a_doc_says_what_the_parser_says_of_its_tokens(nlp: Language, parser: Parser) -> None:
    doc = nlp(TEXT)
    sents = list(doc.sents)
    assert len(sents) == 3
    for sent in sents:
        tokens = [token for token in sent if not token.is_space]
        parse = parser.parse([token.text for token in tokens])
        for token, head, relation, tag, upos in zip(
            tokens,
            parse.dependencies.heads,
            parse.dependencies.relations,
            parse.tags,
            parse.upos,
            strict=True,
        ):
            assert token.head == (tokens[head - 1] if head else token)
            assert token.dep_ == (relation if head else "ROOT")
            assert (token.tag_, token.pos_) == (tag, upos)
        assert sent.root == tokens[parse.dependencies.root - 1]
        assert sent._.parse_string == parse.brackets()
        spans = [
            (tokens[i].i, tokens[j - 1].i + 1, label)
            for i, j, label in parse.constituency.spans
            if label != "TOP"
        ]
        assert [(c.start, c.end, c.label_) for c in sent._.constituents] == spans


def test_the_tokens_of_the_doc_stay_as_they_are(nlp: Language) -> None:
    words = ["Ada", "sees", "the old", "well-known", "tree", "(", "here", ")", "."]
    doc = nlp(Doc(nlp.vocab, words=words))
    assert [token.text for token in doc] == words
    brackets = next(doc.sents)._.parse_string
    assert ConstituencyTree.from_brackets(brackets).words == tuple(
        word.replace(" ", "_") for word in words
    )


def test_white_space_is_attached_to_a_word_and_is_no_constituent(nlp: Language) -> None:
    doc = nlp(TEXT)
    spaces = [token for token in doc if token.is_space]
    assert len(spaces) == 3
    for token in spaces:
        assert (token.dep_, token.tag_, token.pos_) == ("dep", "_SP", "SPACE")
        assert token.head.i == (1 if token.i == 0 else token.i - 1)
    assert all(
        not c[0].is_space and not c[-1].is_space for sent in doc.sents for c in sent._.constituents
    )


def test_sentences_of_the_doc_are_kept(nlp: Language) -> None:
    words = ["Ada", "sees", "Kurt", ".", "Kurt", "sees", "Ada", "."]
    starts = [True, False, False, False, False, False, True, False]
    doc = nlp(Doc(nlp.vocab, words=words, sent_starts=starts))
    assert [sent.start for sent in doc.sents] == [0, 6]


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "Ada", "Ada sees it.Kurt plays.", " . ", "\t\tKurt\n"]
)
def test_odd_texts_pass(nlp: Language, text: str) -> None:
    doc = nlp(text)
    assert doc.text == text
    assert sum(len(sent) for sent in doc.sents) == len(doc)
    assert all(sent._.parse_string for sent in doc.sents if sent.text.strip())


def test_a_sentence_that_the_rules_begin_inside_a_token_begins_at_the_next(nlp: Language) -> None:
    doc = nlp(Doc(nlp.vocab, words=["Ada", "sees.Kurt", "plays", "."]))
    assert [sent.start for sent in doc.sents] in ([0], [0, 2])


def test_only_what_is_requested_is_set(bundle: Path) -> None:
    doc = pipeline(bundle, dependencies=False, tags=False)(TEXT)
    assert not doc.has_annotation("DEP") and not doc.has_annotation("TAG")
    assert [sent.text.strip().split()[0] for sent in doc.sents] == ["Ada", "Kurt", "The"]
    assert all(sent._.constituents for sent in doc.sents)
    bare = pipeline(bundle, dependencies=False, tags=False, sentences=False)(TEXT)
    assert not bare.has_annotation("SENT_START")
    assert bare[1]._.constituent is not None
    heads = pipeline(bundle, constituents=False)(TEXT)
    assert heads.has_annotation("DEP")
    assert heads[1]._.constituent is None
    assert [sent._.constituents for sent in heads.sents] == [[], [], []]
    assert next(heads.sents)._.parse_string == ""


def test_a_constituent_has_brackets_and_constituents_of_its_own(nlp: Language) -> None:
    sent = next(nlp("Ada sees the old tree.").sents)
    tree = ConstituencyTree.from_brackets(sent._.parse_string)
    for c in sent._.constituents:
        assert c._.parse_string in sent._.parse_string
        assert ConstituencyTree.from_brackets(c._.parse_string).words == tree.words[c.start : c.end]
        inside = [(one.start, one.end) for one in c._.constituents]
        assert (c.start, c.end) in inside
        assert all(c.start <= start and end <= c.end for start, end in inside)
    assert sent[1:3]._.parse_string == "" or (1, 3) in [
        (c.start, c.end) for c in sent._.constituents
    ]


def test_a_token_knows_the_smallest_constituent_around_it(nlp: Language) -> None:
    doc = nlp("Ada sees the old tree.")
    every = doc[:]._.constituents
    for token in doc:
        around = [c for c in every if c.start <= token.i < c.end]
        assert len(token._.constituent) == min(map(len, around))
        assert token._.constituent.label_ == around[-1].label_


def test_constituents_have_labels_parents_and_children_as_in_benepar(nlp: Language) -> None:
    sent = next(nlp(" Ada sees the old tree here.").sents)
    bounds = []

    def walk(span: Any) -> None:
        bounds.append((span.start, span.end))
        below = span._.children
        assert [token.i for child in below for token in child] == (
            [] if len(span) == 1 else [t.i for t in span]
        )
        for child in below:
            assert (child._.parent.start, child._.parent.end) == (span.start, span.end)
            assert (
                child._.labels == (child.label_,) * bool(child.label_)
                or child._.labels[0] == child.label_
            )
            walk(child)

    words = sent[1:]
    assert words._.parent is None and words._.labels == (words._.constituents[0].label_,)
    walk(words)
    assert {(c.start, c.end) for c in sent._.constituents} | {(t.i, t.i + 1) for t in words} == set(
        bounds
    )
    token = sent[5]
    assert token._.parent.end == token.i + 1 and token._.labels == () and token._.children == []
    chain = Parse.from_brackets("(TOP (S (VP (VB Go))))")
    (go,) = to_doc(nlp.vocab, [chain])
    assert go._.labels == ("S", "VP") and go._.parse_string == "(TOP (S (VP (VB Go))))"
    with pytest.raises(ArcspanError, match="'sees the' is not a constituent"):
        _ = sent[2:4]._.labels


def test_spacy_evaluates_constituents(nlp: Language, parser: Parser) -> None:
    pairs = toy_pairs(12)
    gold = [Parse.from_trees(pair.constituency, pair.dependencies) for pair in pairs]
    docs = [to_doc(nlp.vocab, gold[:6]), to_doc(nlp.vocab, gold[6:])]
    assert [sent._.parse_string for sent in docs[0].sents] == [
        parse.brackets() for parse in gold[:6]
    ]
    bin_ = DocBin(docs=docs, store_user_data=True).to_bytes()
    docs = list(DocBin().from_bytes(bin_).get_docs(nlp.vocab))

    def examples() -> list[Any]:
        made = []
        for doc in docs:
            blank = Doc(
                nlp.vocab, words=[t.text for t in doc], sent_starts=[t.is_sent_start for t in doc]
            )
            made.append(Example(blank, doc))
        return made

    scores = nlp.evaluate(examples())
    assert (
        scores["constituents_f"]
        == scores["dep_las"]
        == scores["tag_acc"]
        == scores["sents_f"]
        == 1.0
    )
    wrong = examples()
    for example in wrong:
        for sent in example.reference.sents:
            data = sent[0]._.arcspan_tree
            sent[0]._.arcspan_tree = {**data, "spans": data["spans"][:1]}
    scores = nlp.evaluate(wrong)
    assert scores["constituents_r"] == 1.0 and 0 < scores["constituents_p"] < 1
    weights = Language.get_factory_meta("arcspan").default_score_weights
    assert sum(weights.values()) == pytest.approx(1) and set(weights) <= {
        *scores,
        "lemma_acc",
        "pos_acc",
        "morph_acc",
    }


def test_two_processes_give_the_same_200_sentences_with_compatible_trees(nlp: Language) -> None:
    sentences = [" ".join(pair.constituency.words[:-1]) + "." for pair in toy_pairs(200, seed=5)]
    sentences = [sentence[0].upper() + sentence[1:] for sentence in sentences]
    (one,) = nlp.pipe([" ".join(sentences)])
    sents = list(one.sents)
    assert len(sents) == 200
    for sent in sents:
        heads = [0 if token.head == token else token.head.i - sent.start + 1 for token in sent]
        dependencies = DependencyTree(heads, [token.dep_ for token in sent])
        assert LexicalTree.compatible(
            ConstituencyTree.from_brackets(sent._.parse_string), dependencies
        )
    texts = [" ".join(sentences[k : k + 10]) for k in range(0, 200, 10)]
    texts.append(" ".join(sentences))
    single = [everything(doc) for doc in nlp.pipe(texts)]
    double = [everything(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=4)]
    assert double == single
    assert single[-1] == everything(one)


def test_a_saved_pipeline_does_not_need_the_bundle_it_was_made_with(
    bundle: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(bundle, copy)
    nlp = pipeline(copy)
    expected = everything(nlp(TEXT))
    nlp.to_disk(tmp_path / "pipeline")
    shutil.rmtree(copy)
    loaded = spacy.load(tmp_path / "pipeline")
    assert everything(loaded(TEXT)) == expected
    loaded.to_disk(tmp_path / "pipeline")  # onto itself
    assert everything(spacy.load(tmp_path / "pipeline")(TEXT)) == expected


def test_constituents_survive_bytes_docbin_slices_and_joining(nlp: Language) -> None:
    doc = nlp(TEXT)
    expected = everything(doc)
    assert everything(Doc(nlp.vocab).from_bytes(doc.to_bytes())) == expected
    attributes = ["HEAD", "DEP", "TAG", "POS"]
    (again,) = DocBin(attributes, docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    assert everything(again) == expected
    second = list(doc.sents)[1]
    assert second.as_doc(copy_user_data=True)[:]._.parse_string == second._.parse_string
    joined = Doc.from_docs([doc, doc], ensure_whitespace=False)
    assert [sent._.parse_string for sent in joined.sents] == 2 * [
        sent._.parse_string for sent in doc.sents
    ]


def test_the_component_pickles(bundle: Path, nlp: Language) -> None:
    component = ArcspanComponent(model=bundle, tags=False, threads=1)
    again = pickle.loads(pickle.dumps(component))
    assert (again.model, again.tags) == (str(bundle), False)
    assert [token.dep_ for token in again(nlp.make_doc("Ada sees Kurt."))] == [
        token.dep_ for token in nlp("Ada sees Kurt.")
    ]


def test_the_style_is_the_parsers(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline(bundle, style="gum")
    component = pickle.loads(pickle.dumps(nlp.get_pipe("arcspan")))
    with pytest.raises(ArcspanError, match="no style 'gum'"):
        component(nlp.make_doc("Ada sees Kurt."))
    parser = component.parser
    monkeypatch.setitem(parser.predictor.model.styles, "gum", parser.predictor.model.style_of(None))
    assert len(list(component(nlp.make_doc("Ada sees Kurt.")).sents)) == 1


def test_an_error_goes_to_spacys_error_handler(tmp_path: Path) -> None:
    nlp = pipeline(tmp_path / "nothing")
    bounds: list[str] = []
    nlp.set_error_handler(lambda name, component, docs, error: bounds.append(f"{name}: {error}"))
    assert list(nlp.pipe(["Ada sees Kurt."])) == []
    assert bounds and "nothing" in bounds[0]


def test_lemmas_and_features_are_where_spacy_has_them(
    bundle: Path, whole_rows: Parse, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = pipeline(bundle)
    component = nlp.get_pipe("arcspan")
    monkeypatch.setattr(component.parser, "pipe", lambda words, **_: iter([whole_rows]))
    doc = nlp("Ada  sees trees")
    assert [token.lemma_ for token in doc] == ["Ada", " ", "see", "tree"]
    assert [str(token.morph) for token in doc] == ["Number=Sing", "", "", "Case=Acc|Number=Plur"]
    assert doc[3].morph.get("Case") == ["Acc"]


def test_a_model_without_lemmas_leaves_those_of_the_doc(nlp: Language) -> None:
    doc = Doc(nlp.vocab, words=["Ada", "sees"], lemmas=["ada!", "see!"])
    assert [token.lemma_ for token in nlp(doc)] == ["ada!", "see!"]


@pytest.mark.parametrize("layer", [0, 1])
def test_a_model_of_one_tree_writes_that_tree(tmp_path: Path, layer: int) -> None:
    """The other tree was asked for all the same, and the Doc had neither."""
    folder = tmp_path / "half"
    shutil.copytree(Path(__file__).resolve().parents[1] / "runtime" / "bundles" / "sep", folder)
    update_bundle(folder, {"components": [read_bundle(folder)["components"][layer]]})
    doc = pipeline(folder)("Ada sees the dog .")
    assert bool(doc[:]._.constituents) == (layer == 0)
    assert doc.has_annotation("DEP") == (layer == 1)
    assert len(list(doc.sents)) == 1


def test_entities_are_preferred_as_constituents(bundle: Path, nlp: Language) -> None:
    def spans(pipeline: Language) -> set[tuple[int, int]]:
        doc = pipeline.make_doc("Ada sees the dog with the old tree .")
        doc.ents = [Span(doc, 1, 4, label="X")]
        return {(one.start, one.end) for one in pipeline(doc)[:]._.constituents}

    assert (1, 4) not in spans(nlp)
    assert (1, 4) in spans(pipeline(bundle, entities=100.0))
