"""One thread, many requests: batches across them, fairness, cancellation, failures, a clean end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arcspan.parser import Parser
from arcspan.serving.batching import Batcher, Source, Wanted
from arcspan.serving.problems import Problem
from tests.serving.conftest import HeldParser

DOG = Source(("The", "dog", "sees", "Ada", "."))


@pytest.fixture
def batcher(held: HeldParser) -> Iterator[Batcher]:
    batcher = Batcher(held, most=20, batch_sentences=8, batch_words=100)
    yield batcher
    held.let_all_go()
    batcher.close()


def occupy(batcher: Batcher, held: HeldParser) -> None:
    """Let the thread hold a batch, so that what comes next must wait together."""
    batcher.submit([DOG], Wanted())
    assert held.begun.acquire(timeout=30)


def test_what_waits_while_a_batch_is_parsed_is_parsed_together(batcher: Batcher, held: HeldParser) -> None:
    occupy(batcher, held)
    futures = [batcher.submit([DOG, DOG], Wanted()) for _ in range(3)]
    held.let_all_go()
    for future in futures:
        assert [[parse.words for parse in found] for found in future.result(30)] == [[DOG.words]] * 2
    assert held.sizes == [1, 6]


def test_a_small_request_overtakes_a_large_one_that_came_first(batcher: Batcher, held: HeldParser) -> None:
    occupy(batcher, held)
    large = batcher.submit([DOG] * 40, Wanted())
    small = batcher.submit([DOG], Wanted())
    held.go.release(2)
    assert len(small.result(30)) == 1
    assert not large.done()
    held.let_all_go()
    assert len(large.result(30)) == 40
    assert held.sizes == [1, 8, 8, 8, 8, 8, 1]


def test_a_batch_ends_at_its_number_of_words_too(batcher: Batcher, held: HeldParser) -> None:
    occupy(batcher, held)
    long = Source(("Logic",) * 60)
    future = batcher.submit([long] * 3, Wanted())
    held.let_all_go()
    future.result(30)
    assert held.sizes == [1, 2, 1]


def test_sentences_of_a_text_keep_their_places(batcher: Batcher, held: HeldParser) -> None:
    held.let_all_go()
    source = Source(("Ada", "plays", "."), "Ada plays.", ((7, 10), (11, 16), (16, 17)), glued=True)
    (((parse,),)) = batcher.submit([source], Wanted()).result(30)
    assert parse.offsets == source.offsets
    assert parse.text == "Ada plays."
    assert parse.conllu().count("SpaceAfter=No") == 2


def test_a_full_house_refuses_the_next(batcher: Batcher, held: HeldParser) -> None:
    occupy(batcher, held)
    waiting = [batcher.submit([DOG], Wanted()) for _ in range(19)]
    assert batcher.full
    with pytest.raises(Problem) as refused:
        batcher.submit([DOG], Wanted())
    assert refused.value.status == 429
    waiting[0].cancel()
    batcher.submit([DOG], Wanted())
    held.let_all_go()
    assert [len(future.result(30)) for future in waiting[1:]] == [1] * 18


def test_a_cancelled_request_is_not_parsed(batcher: Batcher, held: HeldParser) -> None:
    occupy(batcher, held)
    unwanted = batcher.submit([DOG] * 5, Wanted())
    wanted = batcher.submit([DOG], Wanted())
    assert unwanted.cancel()
    held.let_all_go()
    wanted.result(30)
    assert held.sizes == [1, 1]


def test_closing_finishes_what_was_taken_and_takes_no_more(toy_bundle: Path) -> None:
    held = HeldParser(toy_bundle)
    batcher = Batcher(held, batch_sentences=2)
    futures = [batcher.submit([DOG] * 3, Wanted()) for _ in range(3)]
    held.let_all_go()
    batcher.close()
    assert all(len(future.result(0)) == 3 for future in futures)
    with pytest.raises(Problem) as refused:
        batcher.submit([DOG], Wanted())
    assert (refused.value.status, refused.value.code) == (503, "stopping")


class Fragile(Parser):
    """A parser that fails on one word."""

    def pipe(self, items: Any, batch_size: int = 64) -> Any:
        items = list(items)
        if any("crash" in words for words in items):
            raise RuntimeError("on purpose")
        yield from super().pipe(items, batch_size)


def test_a_sentence_that_fails_spoils_no_other_request(
    toy_bundle: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batcher = Batcher(Fragile(toy_bundle))
    futures = [batcher.submit([DOG, Source((word,))], Wanted()) for word in ("fine", "crash", "Ada")]
    assert [len(futures[place].result(30)) for place in (0, 2)] == [2, 2]
    with pytest.raises(Problem) as failed:
        futures[1].result(30)
    assert failed.value.status == 500
    assert "on purpose" not in failed.value.message
    assert "on purpose" in caplog.text
    assert len(batcher.submit([DOG], Wanted()).result(30)) == 1
    batcher.close()
