"""Few threads, many requests: batches across them, fairness, cancellation, failures, a clean end."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from arcspan.parser import Parse, Parser, Query, Sentence
from arcspan.serving import Settings
from arcspan.serving.refusals import Refusal
from arcspan.serving.scheduler import (
    RequestQueue,
    ScheduledRequest,
    ScheduledSentence,
    Scheduler,
    Write,
)
from tests.serving.conftest import HeldParser

DOG = ("The", "dog", "sees", "Ada", ".")


def write(index: int, parses: list[Parse]) -> bytes:
    return " ".join(parses[0].words).encode()


def task(*words: str, pictures: int = 0, **options: Any) -> ScheduledSentence:
    """A sentence as requests bring it."""
    return ScheduledSentence(Sentence(words or DOG), Query(**options), pictures)


def submit(
    scheduler: Scheduler, sentences: Sequence[ScheduledSentence], write: Write = write
) -> Future[list[bytes]]:
    return scheduler.submit(ScheduledRequest(sentences, write))


def dogs(scheduler: Scheduler, count: int = 1) -> Future[list[bytes]]:
    """A request of so many sentences."""
    return submit(scheduler, [task()] * count, write)


@pytest.fixture
def scheduler(held: HeldParser) -> Iterator[Scheduler]:
    scheduler = Scheduler(held, Settings(max_waiting=20, batch_sentences=8, batch_words=100))
    yield scheduler
    held.let_all_go()
    scheduler.close()


@pytest.fixture
def busy(scheduler: Scheduler, held: HeldParser) -> Scheduler:
    """Its thread holds a turn, so that what comes next must wait together."""
    dogs(scheduler)
    assert held.begun.acquire(timeout=300)
    return scheduler


def test_what_waits_during_a_turn_is_parsed_together(busy: Scheduler, held: HeldParser) -> None:
    futures = [dogs(busy, 2) for _ in range(3)]
    held.let_all_go()
    for future in futures:
        assert future.result(300) == [b"The dog sees Ada ."] * 2
    assert held.sizes == [1, 6]


def test_a_small_request_overtakes_a_large_one_that_came_first(
    busy: Scheduler, held: HeldParser
) -> None:
    large, small = dogs(busy, 40), dogs(busy)
    held.go.release(2)
    assert len(small.result(300)) == 1
    assert not large.done()
    held.let_all_go()
    assert len(large.result(300)) == 40
    # Of one request, no more than its share of a batch: a quarter of its words beside another.
    assert held.sizes == [1, 6, 8, 8, 8, 8, 3]


def test_a_newcomer_takes_turns_with_a_request_that_has_had_many() -> None:
    """It would have all turns until it had caught up, if its account began at zero."""
    lock = threading.RLock()
    queue = RequestQueue(lock, max_sentences=1, max_cost=1_000)
    old, new = (ScheduledRequest([task()] * 20, write) for _ in range(2))

    def push(request: ScheduledRequest) -> None:
        with lock:
            queue.push(request)

    def next_turn() -> str:
        ((request, _),) = queue.take(open_requests=2)
        push(request)
        return "old" if request is old else "new"

    push(old)
    assert [next_turn() for _ in range(9)] == ["old"] * 9
    push(new)
    turns = [next_turn() for _ in range(8)]
    assert turns.count("old") == turns.count("new") == 4


def test_sentences_of_like_length_are_parsed_together(busy: Scheduler, held: HeldParser) -> None:
    """The parser makes a batch of them; turns of all lengths made it run many small ones."""
    lengths = (5, 20, 6, 21)
    apart = [submit(busy, [task(*["Ada"] * n)], write) for n in lengths]
    together = submit(busy, [task(*["Ada"] * n) for n in lengths], write)
    held.let_all_go()
    expected = [" ".join(["Ada"] * n).encode() for n in lengths]
    assert [*(future.result(300)[0] for future in apart)] == together.result(300) == expected
    assert held.sizes == [1, 4, 3, 1]  # of the last request one long sentence, which is its share


def test_nobody_waits_for_a_sentence_that_takes_long(
    scheduler: Scheduler, held: HeldParser
) -> None:
    """A search cannot be interrupted, and four long ones stopped everything."""
    held.holds_from = 100
    long = [submit(scheduler, [task(*["Logic"] * 150)], write) for _ in range(4)]
    assert held.begun.acquire(timeout=300)
    assert len(dogs(scheduler, 20).result(300)) == 20
    many = submit(scheduler, [task(k=10, pictures=2)], write)
    assert not any(future.done() for future in (*long, many))
    held.let_all_go()
    for future in (*long, many):
        assert len(future.result(300)) == 1


def test_a_turn_ends_at_its_number_of_words_too(busy: Scheduler, held: HeldParser) -> None:
    futures = [submit(busy, [task(*["Logic"] * 30)], write) for _ in range(5)]
    held.let_all_go()
    for future in futures:
        future.result(300)
    assert held.sizes == [1, 3, 2]


def test_what_takes_longer_costs_more() -> None:
    words = ["word"] * 25
    plain = task(*words).cost
    more = [task(*words, k=2), task(*words, k=2, pictures=2), task(*words, k=9, pictures=2)]
    assert plain < more[0].cost < more[1].cost < more[2].cost
    assert plain < task(*words, confidence=True).cost
    assert task(*words * 10).cost > 20 * plain
    forbid = [("arc", h, m) for m in range(1, 26) for h in range(1, 26) if h != m]
    few, several, many = (task(*words, forbid=forbid[:count]).cost for count in (1, 20, 600))
    assert few < several < many


def test_long_words_cost_more() -> None:
    """A turn of words of many pieces took sixteen times as long as it should."""
    assert task(*["a-b-c-d-e-f-g-h-i"] * 25).cost > 3 * task(*["word"] * 25).cost
    assert task("a" * 900_000).cost < 10  # no more pieces of a word are read than of this


def test_sentences_of_a_text_keep_their_places(
    scheduler: Scheduler, held: HeldParser, parser: Parser
) -> None:
    held.let_all_go()
    text, found = "Logic sees. Ada plays.", []

    def keep(index: int, parses: list[Parse]) -> bytes:
        found.extend(parses)
        return b""

    submit(scheduler, [ScheduledSentence(one) for one in held.split(text)], keep).result(300)
    assert found == parser(text)
    assert found[1].text == "Ada plays."
    assert found[1].offsets == ((12, 15), (16, 21), (21, 22))


def test_where_too_many_wait_the_one_with_most_work_is_refused(
    busy: Scheduler, held: HeldParser
) -> None:
    waiting = [dogs(busy, count) for count in (1, 9, 2, *[1] * 16)]
    small = dogs(busy)
    for refused in (waiting[1], dogs(busy, 3)):
        with pytest.raises(Refusal) as refusal:
            refused.result(300)
        assert refusal.value.status == 429
    waiting[0].cancel()
    last = dogs(busy, 3)
    held.let_all_go()
    for future in (*waiting[2:], small, last):
        assert future.result(300)


def test_a_cancelled_request_is_not_parsed(busy: Scheduler, held: HeldParser) -> None:
    unwanted, needed = dogs(busy, 5), dogs(busy)
    assert unwanted.cancel()
    held.let_all_go()
    needed.result(300)
    assert held.sizes == [1, 1]


def test_an_answer_that_grows_too_large_ends_its_request(toy_bundle: Path) -> None:
    parser = Parser(toy_bundle, threads=1)
    scheduler = Scheduler(parser, Settings(max_answer=1_000, batch_sentences=1))
    written: list[int] = []

    def large(index: int, parses: list[Parse]) -> bytes:
        written.append(len(parses))
        return b" " * 400

    future = submit(scheduler, [task()] * 9, large)
    with pytest.raises(Refusal) as refusal:
        future.result(300)
    assert (refusal.value.status, refusal.value.code) == (413, "answer_too_large")
    scheduler.close()
    assert len(written) == 3


def test_closing_finishes_what_was_taken_and_takes_no_more(toy_bundle: Path) -> None:
    held = HeldParser(toy_bundle)
    scheduler = Scheduler(held, Settings(batch_sentences=2))
    futures = [dogs(scheduler, 3) for _ in range(3)]
    held.let_all_go()
    scheduler.close()
    assert all(len(future.result(0)) == 3 for future in futures)
    with pytest.raises(Refusal) as refused:
        dogs(scheduler)
    assert (refused.value.status, refused.value.code) == (503, "stopping")


def test_giving_up_answers_all_at_once_and_waits_for_no_sentence(
    busy: Scheduler, held: HeldParser
) -> None:
    futures = [dogs(busy, 3) for _ in range(3)]
    busy.refuse_all()
    for future in futures:
        with pytest.raises(Refusal) as refusal:
            future.result(0)
        assert refusal.value.code == "stopping"
    busy.close(timeout=0)
    assert busy.is_running
    held.let_all_go()
    busy.close()
    assert not busy.is_running
    assert held.sizes == [1]


class Panic(BaseException):
    """As libraries in Rust raise: not an Exception."""


class Fragile(Parser):
    """A parser that fails on two words."""

    def answer(self, questions: Any) -> Any:
        if any("crash" in sentence.words for sentence, _ in questions):
            raise RuntimeError("on purpose")
        if any("panic" in sentence.words for sentence, _ in questions):
            raise Panic("on purpose")
        return super().answer(questions)


@pytest.mark.parametrize("bad", ["crash", "panic"])
def test_a_sentence_that_fails_spoils_no_other_request_and_no_thread(
    toy_bundle: Path, caplog: pytest.LogCaptureFixture, bad: str
) -> None:
    """A panic ended the thread that parses, while /health went on saying that all was well."""
    parser = Fragile(toy_bundle)
    scheduler = Scheduler(parser)
    futures = [submit(scheduler, [task(), task(word)], write) for word in ("fine", bad, "Ada")]
    assert [len(futures[place].result(300)) for place in (0, 2)] == [2, 2]
    with pytest.raises(Refusal) as failed:
        futures[1].result(300)
    assert failed.value.status == 500
    assert "on purpose" not in failed.value.message
    assert "on purpose" in caplog.text
    assert len(dogs(scheduler).result(300)) == 1
    assert scheduler.is_healthy
    scheduler.close()


def test_a_sentence_that_takes_long_leaves_the_threads_of_the_parser_to_others(
    toy_bundle: Path,
) -> None:
    """It was parsed in their pool, where the short sentences of everybody else waited behind it."""
    parser = Parser(toy_bundle, threads=2)
    scheduler = Scheduler(parser)
    at_work: list[str] = []
    predict = parser.predictor._predict_batch

    def watched(items: Any) -> Any:
        at_work.append(threading.current_thread().name)
        return predict(items)

    parser.predictor._predict_batch = watched  # type: ignore[method-assign,assignment]
    assert len(submit(scheduler, [task(*["Logic"] * 150)] * 2, write).result(300)) == 2
    assert len(at_work) == 2 and not any(name.startswith("arcspan") for name in at_work)
    scheduler.close()
