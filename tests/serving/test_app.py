"""The API as a client sees it: answers, refusals in one format, health, metrics, documentation."""

from __future__ import annotations

import itertools
import json
import re
import threading
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from arcspan import __version__
from arcspan.parser import Parser
from arcspan.serving.messages import ParseRequest
from arcspan.trees import ConstituencyTree
from tests.serving.conftest import Running, Start
from tests.serving.test_scheduler import Panic
from tests.toy import toy_pairs

TEXT = "Logic plays a maximal role here. The old dog sees every tree."
PAIRS = toy_pairs(60)


def test_text_is_split_and_both_trees_come_with_places_in_the_text(
    server: Running, parser: Parser
) -> None:
    answer = server.parse(text=TEXT)
    assert answer.status_code == 200
    sentences = answer.json()["sentences"]
    assert [sentence["brackets"] for sentence in sentences] == [
        parse.brackets() for parse in parser(TEXT)
    ]
    assert [sentence["conllu"] for sentence in sentences] == [
        parse.conllu() for parse in parser(TEXT)
    ]
    for sentence in sentences:
        assert [TEXT[begin:end] for begin, end in sentence["offsets"]] == sentence["words"]
    assert sentences[0]["text"] == "Logic plays a maximal role here."
    assert not {"svg", "alternatives", "confidence", "error"} & set(sentences[0])


def test_words_are_never_split_and_give_the_trees_the_model_knows(server: Running) -> None:
    answer = server.parse(words=[pair.constituency.words for pair in PAIRS])
    for pair, sentence in zip(PAIRS, answer.json()["sentences"], strict=True):
        assert sentence["words"] == list(pair.constituency.words)
        assert ConstituencyTree.from_brackets(sentence["brackets"]) == pair.constituency
        assert sentence["heads"] == list(pair.dependencies.heads)
        assert sentence["relations"] == list(pair.dependencies.relations)
        assert sentence["tags"] == list(pair.constituency.tags)
        assert sentence["constituents"] == [list(span) for span in pair.constituency.spans]
        assert sentence["offsets"] is None


def test_one_sentence_of_words_needs_no_outer_list(server: Running) -> None:
    (sentence,) = server.parse(words=["Ada", "sees", "e.g. this"]).json()["sentences"]
    assert sentence["words"] == ["Ada", "sees", "e.g. this"]


@pytest.mark.parametrize("request_", [{"text": ""}, {"text": " \n "}, {"words": []}])
def test_nothing_to_parse_is_no_sentences(server: Running, request_: dict[str, Any]) -> None:
    assert server.parse(**request_).json() == {"sentences": []}


def test_the_k_best_come_in_order_and_differ(server: Running, parser: Parser) -> None:
    (sentence,) = server.parse(text="Logic plays a maximal role here.", k=4).json()["sentences"]
    trees = [sentence, *sentence["alternatives"]]
    assert len(trees) == 4
    assert len({(tree["brackets"], tree["conllu"]) for tree in trees}) == 4
    scores = [tree["score"] for tree in trees]
    assert scores == sorted(scores, reverse=True)
    (best,) = parser("Logic plays a maximal role here.")
    assert sentence["brackets"] == best.brackets()
    assert sentence["heads"] == list(best.dependencies.heads)
    assert "# rank = 1\n" in sentence["conllu"]


def test_clauses_and_phrases_are_given_where_they_are_asked_for(server: Running) -> None:
    text = "Ada sees the old tree and the dog."
    (sentence,) = server.parse(text=text, syntax=True, confidence=True).json()["sentences"]
    found = sentence["syntax"]
    assert set(found) == {"clauses", "coordinations", "noun_phrases", "verb_groups"}
    for phrase in itertools.chain(*found.values()):
        assert (
            text[phrase["start"] : phrase["end"]] == phrase["text"]
            and 0 <= phrase["probability"] <= 1
        )
    (plain,) = server.parse(text=text).json()["sentences"]
    assert "syntax" not in plain


def test_matches_of_a_query_are_given_with_their_places(server: Running, parser: Parser) -> None:
    query = "NP=phrase <# ({upos:NOUN}=noun >det {}=article)"
    sentences = server.parse(text=TEXT, find=query, k=2, confidence=True).json()["sentences"]
    for sentence, (best, second) in zip(
        sentences, parser.stream(list(parser.split(TEXT)), k=2), strict=True
    ):
        for tree, parse in ((sentence, best), (sentence["alternatives"][0], second)):
            expected = [match.to_dict(probabilities=True) for match in parse.find(query)]
            assert tree["matches"] == json.loads(json.dumps(expected))
        match = sentence["matches"][0]
        assert TEXT[match["start"] : match["end"]] == match["text"] and match["word"] == 0
        assert match["names"]["noun"]["word"] == match["head"]
    assert server.parse(text=TEXT, find="FOO").json()["sentences"][0]["matches"] == []
    assert "matches" not in server.parse(text=TEXT).json()["sentences"][0]


def test_a_query_that_cannot_be_read_is_refused_at_its_place(server: Running) -> None:
    error = assert_refused(server.parse(text=TEXT, find="NP < (PP"), 400, "bad_request")
    assert (
        error["message"]
        == "find: the pattern cannot be read: ) should be here\n  NP < (PP\n          ^"
    )
    assert_refused(server.parse(text=TEXT, find="N" * 1_001), 400, "bad_request")
    assert_refused(server.parse(text=TEXT, find="/(a|aa)(a|aa)(a|aa)a*a*a*b/"), 400, "bad_request")


def test_a_costly_query_is_refused(server: Running) -> None:
    words = list(PAIRS[0].constituency.words) * 12
    assert server.parse(words=words, find="__ .. (__ .. __)").status_code == 200
    error = assert_refused(
        server.parse(words=words, find="__=a .. (__=b .. __)"), 400, "bad_request"
    )
    assert "too many steps in a sentence of" in error["message"]


def test_confidence_is_a_probability_for_every_span_and_arc(server: Running) -> None:
    (sentence,) = server.parse(text="Logic plays a maximal role here.", confidence=True).json()[
        "sentences"
    ]
    sure = sentence["confidence"]
    assert {(i, j) for i, j, *_ in sure["spans"]} == {
        (i, j) for i, j, _ in sentence["constituents"]
    }
    assert len(sure["arcs"]) == len(sure["relations"]) == len(sentence["words"])
    spans = [p for _, _, *both in sure["spans"] for p in both]
    assert all(
        0 <= p <= 1.000001 for p in [*spans, *sure["arcs"], *sure["relations"], sure["sentence"]]
    )
    total = next(p for i, j, p, _ in sure["spans"] if (i, j) == (0, 7))
    assert total == pytest.approx(1)
    assert "rank" not in sentence["conllu"]


def test_a_sentence_too_long_for_the_exact_search_gets_its_best_tree_only(
    start: Start, toy_bundle: Path
) -> None:
    server = start(Parser(toy_bundle, threads=1, memory_limit=1 << 20))
    words = list(PAIRS[0].constituency.words) * 12
    (sentence,) = server.parse(words=words, k=3, confidence=True, svg=["tall"]).json()["sentences"]
    assert sentence["approximate"] is True
    assert sentence["confidence"] is None
    assert "alternatives" not in sentence
    assert sentence["words"] == words


def test_what_a_model_cannot_give_is_the_same_error_as_in_python(start: Start) -> None:
    """SEP knows no k best pairs: over HTTP it gave the plain best parse, and no error."""
    sep = Parser(Path(__file__).parents[1] / "runtime" / "bundles" / "sep", threads=1)
    words = ["the", "dog", "sees", "Ada"]
    (sentence,) = start(sep).parse(words=words, k=3).json()["sentences"]
    ((expected,),) = sep.stream([words], k=3)
    assert expected.error is not None
    assert sentence["error"] == expected.error
    assert sentence["brackets"] == expected.brackets()


def test_beyond_some_length_a_sentence_gets_its_best_tree_and_the_reason(start: Start) -> None:
    server = start(max_words_beyond=5)
    short, long = ["Ada", "plays"], ["the", "dog", "sees", "every", "old", "tree"]
    answer = server.parse(words=[short, long], k=2, confidence=True, svg=["wide"])
    first, second = answer.json()["sentences"]
    assert first["confidence"] and first["alternatives"] and "reason" not in first
    assert second["confidence"] is None
    assert "alternatives" not in second
    assert "for up to 5 words" in second["reason"]
    assert_refused(server.parse(words=long, require=[[0, 3]]), 413, "sentence_too_long")


def test_constraints_change_the_trees_of_the_one_sentence(server: Running, parser: Parser) -> None:
    words = ["the", "dog", "sees", "every", "old", "tree"]
    (best,) = server.parse(words=words).json()["sentences"]
    i, j, label = best["constituents"][-1]
    constraints = {"forbid": [[i, j, label]], "require": [["arc", 3, 1]]}
    (other,) = server.parse(words=words, **constraints).json()["sentences"]
    assert [i, j, label] not in other["constituents"]
    assert other["heads"][0] == 3
    expected = parser.parse(words, forbid=[(i, j, label)], require=[("arc", 3, 1)])
    assert other["brackets"] == expected.brackets()
    assert other["heads"] == list(expected.dependencies.heads)
    assert "rank" not in other
    answer = server.parse(text="Ada plays. Kurt plays.", k=3, require=[["root", 1]])
    assert_refused(answer, 400, "bad_request")
    contradiction = server.parse(words=words, require=[["root", 1], ["root", 2]])
    assert_refused(contradiction, 400, "bad_request")
    assert "root 2" in contradiction.json()["error"]["message"]


def test_a_text_may_be_one_sentence_whatever_it_looks_like(server: Running) -> None:
    assert len(server.parse(text=TEXT).json()["sentences"]) == 2
    (sentence,) = server.parse(text=TEXT, one_sentence=True).json()["sentences"]
    assert sentence["text"] == TEXT


def test_a_list_of_texts_has_a_list_of_answers(server: Running) -> None:
    texts = [TEXT, "", "Ada plays."]
    answer = server.parse(text=texts).json()
    assert answer == {"texts": [server.parse(text=text).json() for text in texts]}
    assert server.parse(text=[]).json() == {"texts": []}


def test_documents_have_names(server: Running) -> None:
    def ids(**request: Any) -> list[str]:
        answer = server.client.post("/parse", json=request, headers={"Accept": "text/x-conllu"})
        return [
            line for line in answer.text.split("\n") if line.startswith(("# newdoc", "# sent_id"))
        ]

    prose = ["# newdoc id = 01_prose", "# sent_id = 01_prose-1", "# sent_id = 01_prose-2"]
    assert ids(text=TEXT, document="01_prose") == prose
    two = [TEXT, "", "Ada plays."]
    assert ids(text=two, document=["01_prose", "b", "é"]) == [
        *prose,
        "# newdoc id = é",
        "# sent_id = é-1",
    ]
    ranked = ["# newdoc id = w", "# sent_id = w-1", "# sent_id = w-1-2"]
    assert ids(words=["Ada", "plays"], document="w", k=2) == ranked
    assert server.parse(text=TEXT, document="é").json() == {
        "document": "é",
        **server.parse(text=TEXT).json(),
    }
    answers = server.parse(text=two, document=["a", "b", "c"]).json()["texts"]
    assert [answer["document"] for answer in answers] == ["a", "b", "c"]


@pytest.mark.parametrize("document", ["a\n1\tb", "", "a" * 201, "\ud800", ["a"], 7, [7]])
def test_a_name_that_cannot_be_an_id_is_refused(server: Running, document: Any) -> None:
    body = json.dumps({"text": TEXT, "document": document})
    answer = server.client.post(
        "/parse", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400 and "document" in answer.json()["error"]["message"]
    assert server.parse(text=[TEXT], document="a").status_code == 400


def test_the_answer_may_be_conllu_or_brackets(server: Running, parser: Parser) -> None:
    def ask(accept: str, **request: Any) -> Any:
        return server.client.post("/parse", json=request, headers={"Accept": accept})

    conllu = ask("text/x-conllu", text=TEXT)
    assert conllu.headers["Content-Type"] == "text/x-conllu; charset=utf-8"
    assert conllu.text == "".join(parse.conllu() for parse in parser(TEXT))
    brackets = ask("application/json;q=0.1, text/x-brackets", text=TEXT)
    assert brackets.headers["Content-Type"] == "text/x-brackets; charset=utf-8"
    assert brackets.text == "".join(parse.brackets() + "\n" for parse in parser(TEXT))
    assert (
        ask("text/x-conllu", text=["Ada plays.", "", "Kurt plays."]).text.count("# newdoc\n") == 2
    )
    assert ask("text/x-conllu", words=["Ada", "plays"], k=2).text.count("# rank = ") == 2
    assert ask("text/x-conllu", text="").text == ""
    for accept in (
        "",
        "*/*",
        "text/html, */*;q=0.8",
        "application/json, text/x-conllu;q=0.5",
        "text/x-conllu;q=0",
    ):
        assert ask(accept, text="Ada plays.").headers["Content-Type"] == "application/json"
    assert_refused(ask("text/x-conllu", text=3), 400, "bad_request")


@pytest.mark.parametrize(
    ("accept", "field", "value"),
    [
        ("text/x-brackets", "confidence", True),
        ("text/x-conllu", "syntax", True),
        ("text/x-conllu", "svg", ["wide"]),
        ("image/svg+xml", "find", "NP"),
        ("image/svg+xml", "syntax", True),
        ("application/x-tex", "heads", False),
        ("application/x-tex", "width", 300),
        ("text/x-brackets", "rank", 2),
        ("application/json", "rank", 2),
    ],
)
def test_an_option_that_the_accepted_format_does_not_take_is_refused(
    server: Running, accept: str, field: str, value: Any
) -> None:
    request = {"text": "Ada plays.", "k": 2, field: value}
    answer = server.client.post("/parse", json=request, headers={"Accept": accept})
    assert_refused(answer, 400, "bad_request")
    assert field in answer.json()["error"]["message"]


def test_the_answer_may_be_a_picture_of_one_tree(server: Running, parser: Parser) -> None:
    def ask(accept: str, **request: Any) -> Any:
        return server.client.post("/parse", json=request, headers={"Accept": accept})

    text = "Logic plays a maximal role here."
    best, second = parser(text, k=2)
    svg = ask("image/svg+xml", text=text)
    assert svg.headers["Content-Type"] == "image/svg+xml"
    assert svg.text == best.to_svg()
    options: dict[str, Any] = {"layers": "constituency", "heads": False, "colours": "black"}
    other = ask("image/svg+xml", text=text, k=2, rank=2, svg=["tall"], **options)
    assert other.text == second.to_svg(layout="tall", **options)
    assert ask("application/x-tex", text=text, layers="dependency").text == best.to_tikz(
        layers="dependency"
    )
    (sentence,) = server.parse(text=text, svg=["wide"], **options).json()["sentences"]
    assert sentence["svg"]["wide"] == best.to_svg(layout="wide", **options)
    for media_type, begin in (("image/png", b"\x89PNG"), ("application/pdf", b"%PDF")):
        if media_type in server.client.get("/health").json()["formats"]:
            assert ask(media_type, text=text).content.startswith(begin)
    assert_refused(ask("image/svg+xml", text="Ada plays. Kurt plays."), 400, "bad_request")
    assert_refused(ask("image/svg+xml", text=text, k=2, rank=3), 400, "bad_request")


def test_pages_of_named_origins_may_use_the_api_and_no_others(start: Start) -> None:
    server = start(origins=("https://example.org",), max_words=2)

    def ask(origin: str, **request: Any) -> Any:
        return server.client.post("/parse", json=request, headers={"Origin": origin})

    allowed = "access-control-allow-origin"
    assert ask("https://example.org", text="Ada plays").headers[allowed] == "https://example.org"
    refusal = ask("https://example.org", text="Ada plays chess")
    assert_refused(refusal, 413, "sentence_too_long")
    assert refusal.headers[allowed] == "https://example.org"
    assert allowed not in ask("https://evil.example", text="Ada plays").headers
    question = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    for origin, status in (("https://example.org", 200), ("https://evil.example", 400)):
        answer = server.client.options("/parse", headers={**question, "Origin": origin})
        assert answer.status_code == status
    assert (
        allowed
        not in start().client.get("/health", headers={"Origin": "https://example.org"}).headers
    )


def test_pictures_are_xml_with_the_text_as_text(server: Running) -> None:
    evil = "Logic plays <script>alert('x')</script> & \"here\"."
    answer = server.parse(text=evil, svg=["wide", "tall"], confidence=True, k=2).json()
    for tree in [answer["sentences"][0], *answer["sentences"][0]["alternatives"]]:
        for layout in ("wide", "tall"):
            picture = ET.fromstring(tree["svg"][layout])
            assert not list(picture.iter("{http://www.w3.org/2000/svg}script"))
            assert any("script" in (element.text or "") for element in picture.iter())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("nope", "the body is not JSON: Expecting value: line 1 column 1"),
        ('{"text": "a"', "the body is not JSON"),
        ("[]", "the body must be a JSON object"),
        ("", "the body must be a JSON object"),
        ("{}", 'give either "text" or "words"'),
        ('{"text": "a", "words": ["a"]}', 'give either "text" or "words"'),
        ('{"text": 3}', "text: give a string, or a list of strings"),
        ('{"text": ["a", 3]}', "text: give a string, or a list of strings"),
        ('{"text": "a", "k": 0}', "k: "),
        ('{"text": "a", "k": "2"}', "k: "),
        ('{"text": "a", "k": 11}', "k: this server gives at most 10 trees per sentence"),
        ('{"text": "a", "svg": ["round"]}', "svg.0: "),
        ('{"text": "a", "svg": [' + '"wide", ' * 112_499 + '"wide"]}', "svg: "),
        ('{"text": "a", "require": [' + "[0, 1], " * 1_000 + "[0, 1]]}", "require: "),
        ('{"text": "a", "forbid": [[0, 1, 2, 3, 4]]}', "forbid.0: "),
        ('{"text": "a", "forbid": [[0, {}]]}', "forbid.0.1."),
        ('{"text": "a", "forbid": [["arrow", 0, 1]]}', "('arrow', 0, 1)"),
        ('{"words": ["a", "b"], "require": [[0, 3]]}', "required span (0, 3): "),
        (
            '{"words": [["a"], ["b"]], "require": [[0, 1]]}',
            "constraints are about the words of one sentence",
        ),
        ('{"text": "a", "style": "nobody"}', "this model has no style 'nobody'"),
        ('{"text": "a", "txet": "b"}', "txet: "),
        ('{"words": "a b"}', "words: give a list of words"),
        ('{"words": ["a", 3]}', "words: sentence 1, word 2 is not"),
        ('{"words": [["a"], []]}', "words: sentence 2 is not"),
        ('{"words": [["a"], "b"]}', "words: sentence 2 is not"),
        ('{"words": ["a", " "]}', "words: sentence 1, word 2 is not"),
        ('{"text": "\\ud800"}', "half of a surrogate pair"),
        # These two were failures of the server.
        ('{"\\ud800": 1}', "\\ud800: not a field of a request"),
        ('{"words": ["a", "b"], "require": [[0, 2, "\\ud800"]]}', "required span (0, 2) \\ud800: "),
        ("[" * 100_000, "the body is not JSON: it is nested too deeply"),
        (json.dumps(dict.fromkeys(map(str, range(80_000)), 1)), "0: not a field of a request"),
    ],
)
def test_a_wrong_body_is_400_and_says_where(server: Running, body: str, message: str) -> None:
    answer = server.client.post(
        "/parse", content=body, headers={"Content-Type": "application/json"}
    )
    assert_refused(answer, 400, "bad_request")
    assert answer.json()["error"]["message"].startswith(message)


def test_json_must_be_called_json(server: Running) -> None:
    """A page from elsewhere may post text/plain without asking; it may not post JSON."""
    answer = server.client.post(
        "/parse", content='{"text": "a"}', headers={"Content-Type": "text/plain"}
    )
    assert_refused(answer, 400, "bad_request")


@pytest.mark.parametrize(("method", "path", "status", "code"), [
    ("GET", "/no/such/path", 404, "not_found"),
    ("GET", "/parse", 405, "method_not_allowed"),
    ("POST", "/health", 405, "method_not_allowed"),
])  # fmt: skip
def test_wrong_paths_and_methods_answer_in_the_same_format(
    server: Running, method: str, path: str, status: int, code: str
) -> None:
    assert_refused(server.client.request(method, path), status, code)


def test_a_problem_is_told_once_and_briefly(server: Running) -> None:
    """A hundred thousand unknown fields were reported one by one, and a long name was sent back
    whole.
    """
    with pytest.raises(ValidationError) as error:
        ParseRequest.model_validate(
            {"text": "a", **{f"field {number}": 1 for number in range(1_000)}}
        )
    assert error.value.error_count() == 1
    answer = server.parse(text="a", style="x" * 100_000)
    assert_refused(answer, 400, "bad_request")
    assert len(answer.content) < 1_000


def test_a_picture_that_is_asked_for_again_and_again_is_drawn_once(server: Running) -> None:
    """Each of 112,500 was drawn, and four such requests stopped everything."""
    (sentence,) = server.parse(text="Logic plays.", svg=["wide", "tall", "wide"]).json()[
        "sentences"
    ]
    assert list(sentence["svg"]) == ["wide", "tall"]


def test_an_answer_that_would_be_too_large_is_413(start: Start) -> None:
    server = start(max_answer=20_000)
    assert server.parse(words=[["Ada", "plays"]] * 3).status_code == 200
    assert_refused(
        server.parse(words=[["Ada", "plays"]] * 30, svg=["wide"]), 413, "answer_too_large"
    )


def test_too_long_and_too_many_sentences_are_413(start: Start) -> None:
    server = start(max_words=5, max_sentences=2, max_text=60)
    assert_refused(server.parse(text=["Logic plays. "] * 3), 413, "too_many_sentences")
    assert_refused(server.parse(text=["Logic plays. " * 3] * 2), 413, "text_too_long")
    assert_refused(server.parse(words=[["a"], ["b"] * 6]), 413, "sentence_too_long")
    assert_refused(server.parse(text="One two three four five six."), 413, "sentence_too_long")
    assert_refused(server.parse(words=[["a"]] * 3), 413, "too_many_sentences")
    assert server.parse(words=[["a"] * 5] * 2).status_code == 200


def test_a_token_guards_parsing_and_metrics_only(start: Start) -> None:
    server = start(token="s3cret")
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "s3cret"},
        {"Authorization": "Basic s3cret"},
    ):
        answer = server.client.post("/parse", json={"text": "Logic plays."}, headers=headers)
        assert_refused(answer, 401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert server.client.get("/metrics", headers=headers).status_code == 401
    for path in ("/", "/health", "/docs", "/openapi.json"):
        assert server.client.get(path).status_code == 200
    right = {"Authorization": "Bearer s3cret"}
    assert (
        server.client.post("/parse", json={"text": "Logic plays."}, headers=right).status_code
        == 200
    )
    assert server.client.get("/metrics", headers=right).status_code == 200
    assert "s3cret" not in repr(server.app.settings)


def test_health_names_the_version_the_model_and_the_limits(server: Running) -> None:
    health = server.client.get("/health").json()
    assert health["status"] == "ok"
    assert health["version"] == __version__
    assert health["model"]["language"] == "en"
    assert health["limits"]["max_words"] == 300


def test_preferences_come_over_http(server: Running) -> None:
    words = ["Ada", "sees", "the", "dog", "with", "the", "old", "tree", "."]
    for head in (2, 4):
        answer = server.parse(words=words, prefer=[[["arc", head, 8], 100]]).json()
        assert answer["sentences"][0]["heads"][7] == head
    assert_refused(server.parse(words=words, prefer=[[100, ["arc", 2, 8]]]), 400, "bad_request")
    assert_refused(server.parse(words=words, prefer=[["arc", 2, 8]]), 400, "bad_request")


def test_a_panic_is_an_error_of_the_server_and_not_its_end(start: Start, toy_bundle: Path) -> None:
    class Panicking(Parser):
        def split(self, text: str, *, one_sentence: bool = False) -> list[Any]:
            raise Panic("on purpose")

        def query(self, **options: Any) -> Any:
            raise Panic("on purpose")

    server = start(Panicking(toy_bundle, threads=1))
    for request in ({"text": "Logic plays."}, {"words": ["Logic", "plays"]}):
        assert_refused(server.parse(**request), 500, "internal")
    assert server.client.get("/health").status_code == 200


def test_health_fails_where_a_thread_that_parses_has_ended(start: Start) -> None:
    server = start()
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()
    server.app.scheduler._threads.append(ended)
    assert_refused(server.client.get("/health"), 503, "broken")


def test_metrics_count_requests_sentences_and_words(start: Start) -> None:
    server = start()
    server.parse(text=TEXT)
    server.parse(text=5)
    server.client.get("/no/such/path")
    server.client.get("/other")
    assert server.metric('arcspan_requests_total{path="/parse",status="200"}') == 1
    assert server.metric('arcspan_requests_total{path="/parse",status="400"}') == 1
    assert server.metric('arcspan_requests_total{path="other",status="404"}') == 2
    assert server.metric("arcspan_sentences_total") == 2
    assert server.metric("arcspan_words_total") == 14
    assert server.metric("arcspan_request_seconds_count") == 2
    assert server.metric("arcspan_waiting") == 0
    assert server.metric("process_resident_memory_bytes") > 0


def test_answers_of_many_clients_are_neither_lost_nor_mixed_up(
    server: Running, parser: Parser
) -> None:
    requests = [PAIRS[number % len(PAIRS)].constituency.words for number in range(200)]
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(lambda words: server.parse(words=words).json(), requests))
    for words, answer in zip(requests, answers, strict=True):
        (sentence,) = answer["sentences"]
        assert tuple(sentence["words"]) == words
    expected = {pair.constituency.words: pair.constituency for pair in PAIRS}
    for answer in answers:
        (sentence,) = answer["sentences"]
        assert (
            ConstituencyTree.from_brackets(sentence["brackets"])
            == expected[tuple(sentence["words"])]
        )


def test_the_documentation_lists_every_refusal_and_no_422(server: Running) -> None:
    api = server.client.get("/openapi.json").json()
    assert set(api["paths"]) == {"/parse", "/health", "/metrics"}
    parse = api["paths"]["/parse"]["post"]
    assert set(parse["responses"]) == {"200", "400", "401", "403", "408", "413", "429", "503"}
    for status in ("400", "413", "429", "503"):
        schema = parse["responses"][status]["content"]["application/json"]["schema"]
        assert schema["$ref"].endswith("/ErrorAnswer")
    properties = api["components"]["schemas"]["SentenceAnswer"]["properties"]
    answer = server.parse(
        text="Logic plays.", k=2, confidence=True, syntax=True, find="NP", svg=["tall"]
    ).json()
    assert set(answer["sentences"][0]) == set(properties) - {"error", "reason"}


@pytest.mark.parametrize("path", ["/", "/docs", "/page.js", "/picture.js", "/page.css", "/docs.js"])
def test_the_page_loads_nothing_from_elsewhere(server: Running, path: str) -> None:
    answer = server.client.get(path)
    assert answer.status_code == 200
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    names = set(re.findall(r"https?://([^/\s\"']+)", answer.text))
    assert names <= {"www.w3.org"}  # the name of SVG, which nobody loads
    if answer.headers["Content-Type"].startswith("text/html"):
        assert "default-src 'none'; script-src 'self'" in answer.headers["Content-Security-Policy"]
        linked = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
        for name in linked:
            if not name.startswith("data:"):
                assert server.client.get(name).status_code == 200


def assert_refused(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The one format of every refusal."""
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/json"
    error = json.loads(answer.content)["error"]
    assert set(error) == {"status", "code", "message"}
    assert (error["status"], error["code"]) == (status, code)
    assert error["message"]
    assert ("Retry-After" in answer.headers) == (status in (429, 503))
    return error  # type: ignore[no-any-return]
