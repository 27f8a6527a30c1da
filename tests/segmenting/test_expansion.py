"""The words of a multiword token that are not written in it."""

from __future__ import annotations

import json
from dataclasses import asdict

from arcspan.segmenting.expansion import Expansions
from arcspan.settings import read

LEARNT = Expansions.learn(
    [
        *[("au", ("à", "le")), ("Du", ("de", "le")), ("du", ("de", "les")), ("du", ("de", "le"))],
        *[("dámelo", ("da", "me", "lo")), ("bésamelo", ("besa", "me", "lo"))],
        *[("comprándolo", ("comprando", "lo")), ("mirándolo", ("mirando", "lo"))],
        *[("wabayt", ("wa-", "bayt")), ("wakitab", ("wa-", "kitab"))],
    ]
)


def test_what_was_seen_is_looked_up_with_the_letters_case() -> None:
    assert LEARNT("au") == ("à", "le")
    assert LEARNT("Au") == ("À", "le")
    assert LEARNT("AU") == ("À", "LE")
    assert LEARNT("du") == ("de", "le"), "the most frequent answer"


def test_rules_answer_for_what_was_never_seen() -> None:
    assert LEARNT("tirándolo") == ("tirando", "lo")
    assert LEARNT("Warajul") == ("Wa-", "rajul")
    assert LEARNT("pan") is None
    assert LEARNT("") is None


def test_a_rule_that_one_example_taught_is_no_rule() -> None:
    assert Expansions.learn([("dámelo", ("da", "me", "lo"))])("quedámelo") is None


def test_a_file_keeps_everything() -> None:
    read_back = read(Expansions, json.loads(json.dumps(asdict(LEARNT))))
    assert read_back == LEARNT and read_back("tirándolo") == LEARNT("tirándolo")
