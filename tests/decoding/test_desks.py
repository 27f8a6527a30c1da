"""Helpers at desks: work handed over outside the GIL, nothing lost when nobody comes, when memory or patience ends."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from arcspan import decoding
from arcspan.decoding import batch as spread
from arcspan.decoding import crew, desks
from arcspan.decoding.kernels import eisner_satta as kernels


@pytest.fixture(autouse=True)
def eager(monkeypatch) -> None:
    """However little there is to do, ask for help; with desks and a crew of this test's own."""
    monkeypatch.setattr(spread, "_WORTH_A_THREAD", 1e-9)
    monkeypatch.setattr(desks, "_office", desks._Office())
    monkeypatch.setattr(crew, "_crew", crew._Crew())


def scores(lengths: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    shape = (len(lengths), max(lengths) + 1, max(lengths) + 1)
    return rng.standard_normal(shape, np.float32), rng.standard_normal(shape, np.float32), lengths


def same(a: decoding.Decoded, b: decoding.Decoded) -> bool:
    return a.scores.tolist() == b.scores.tolist() and bool((a.heads == b.heads).all())


def test_the_cells_are_those_of_the_kernel() -> None:
    assert (desks._STATE, desks._AWAKE) == (kernels.STATE, kernels.AWAKE)
    assert (desks._EMPTY, desks._BUSY, desks._CELLS) == (kernels.EMPTY, kernels.BUSY, kernels.CELLS)


def test_a_batch_is_shared_with_whoever_attends() -> None:
    span, arc, lengths = scores([12, 30, 7, 1, 0, 22])
    expected = decoding.eisner_satta(span, arc, lengths, threads=1)
    office = desks._office
    office.attend(0, 0)
    begun = threading.Event()

    def attend() -> None:
        begun.set()
        kernels.attend(office.desks, 0, 2_000_000)

    helper = threading.Thread(target=attend, daemon=True)
    helper.start()
    assert begun.wait(30)
    office.desks[0, desks._AWAKE] = 1
    for _ in range(200):
        assert same(decoding.eisner_satta(span, arc, lengths, threads=2), expected)
        assert office.desks[0, desks._STATE] == desks._EMPTY
        assert len(office.free) == desks.MOST and office.held[0] is None


def test_a_helper_alone_does_what_stands_on_the_desk() -> None:
    """The caller has written the addresses and done the work; undone and posted again, it is done by the helper."""
    span, arc, lengths = scores([12, 30, 7, 1, 0, 22])
    expected = decoding.eisner_satta(span, arc, lengths, threads=1)
    sizes, size, starts = np.array(lengths), span.shape[1], np.array([0, 23, 82, 95, 96, 96, 139])
    heads, rows = np.zeros((len(lengths), size), np.int64), np.zeros((139, 3), np.int64)
    values, status = np.zeros(len(lengths)), np.zeros(len(lengths), np.int64)
    queue, taken, rooms = np.arange(len(lengths)), np.zeros(1, np.int64), desks._office.desks
    flat = span.reshape(-1), arc.reshape(-1), size, np.empty(0, np.float32), 1, False
    outputs = sizes, heads, rows, starts, values, status
    assert kernels.search(queue, taken, rooms, np.array([0]), *flat, *outputs)
    assert values.tolist() == expected.scores.tolist() and rooms[0, desks._STATE] == desks._EMPTY
    for array in (taken, heads, rows, values):
        array[:] = 0
    rooms[0, desks._STATE] = kernels.POSTED
    kernels.attend(rooms, 0, 1)
    assert rooms[0, desks._STATE] == desks._EMPTY
    assert values.tolist() == expected.scores.tolist() and (heads == expected.heads).all()
    assert (rows == np.concatenate(expected.spans)).all()


def test_a_helper_is_called_and_leaves_after_a_while() -> None:
    span, arc, lengths = scores([40] * 8)
    expected = decoding.eisner_satta(span, arc, lengths, threads=1)
    assert same(decoding.eisner_satta(span, arc, lengths, threads=2), expected)
    assert crew._crew.size == 1
    for _ in range(3000):
        if not desks._office.desks[0, desks._AWAKE]:
            break
        time.sleep(0.01)
    assert not desks._office.desks[0, desks._AWAKE], "the helper is still at its desk after half a minute"
    assert same(decoding.eisner_satta(span, arc, lengths, threads=2), expected)


def test_where_no_helper_comes_the_caller_does_all() -> None:
    span, arc, lengths = scores([25, 3, 18])
    expected = decoding.eisner_satta(span, arc, lengths, threads=1)
    desks._office.desks[:, desks._AWAKE] = 1  # on their way, they say
    assert same(decoding.eisner_satta(span, arc, lengths, threads=3), expected)
    assert not desks._office.desks[:, desks._STATE].any()


def test_where_no_thread_can_be_started_the_caller_does_all(monkeypatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    span, arc, lengths = scores([25, 3, 18])
    expected = decoding.eisner_satta(span, arc, lengths, threads=1)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert same(decoding.eisner_satta(span, arc, lengths, threads=3), expected)
    assert not desks._office.desks[:, :2].any()


def test_a_busy_desk_is_not_given_away() -> None:
    """Its caller was interrupted, its helper is still at work."""
    office = desks._office
    office.desks[0, desks._STATE] = desks._BUSY
    assert office.reserve(1) == [1]
    office.free.append(1)
    office.desks[0, desks._STATE] = desks._EMPTY
    assert sorted(office.reserve(2)) == [0, 1]


def test_a_helper_without_memory_leaves_the_work_to_the_caller(monkeypatch) -> None:
    office = desks._office

    def no_room(rows: np.ndarray, place: int, attention: int) -> None:
        rows[place, desks._STATE] = desks._BUSY
        raise MemoryError

    monkeypatch.setattr(kernels, "attend", no_room)
    office.attend(3)
    assert not office.desks[3, :2].any()


def test_an_interrupted_caller_leaves_the_arrays_to_the_helper() -> None:
    """Control-C while a helper works: what it reads and writes must not be freed under it."""
    office = desks._office
    arrays = (np.zeros(3),)

    def search(rows: np.ndarray, places: np.ndarray) -> bool:
        rows[places[0], desks._STATE] = desks._BUSY
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desks.search_with_helpers(search, 1, arrays)
    assert office.held[0] is arrays and len(office.free) == desks.MOST


def test_the_caller_waits_for_a_helper_who_takes_long() -> None:
    office = desks._office

    def search(rows: np.ndarray, places: np.ndarray) -> bool:
        rows[places[0], desks._STATE] = desks._BUSY
        threading.Timer(0.2, lambda: rows.__setitem__((places[0], desks._STATE), desks._EMPTY)).start()
        return False

    begin = time.monotonic()
    desks.search_with_helpers(search, 1, ())
    assert time.monotonic() - begin > 0.15
    assert office.held[0] is None
