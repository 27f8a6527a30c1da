"""What all searches promise of their inputs, their batches and their threads."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from arcspan import decoding
from arcspan.decoding import batch as batch_module
from arcspan.errors import ScoreError
from tests.decoding.batches import Batch, packed, random_batch

SEARCHES = {
    "cky": lambda b, **more: decoding.cky(b.span, b.lengths, **more),
    "eisner": lambda b, **more: decoding.eisner(b.arc, b.lengths, **more),
    "first": lambda b, **more: decoding.eisner_satta(b.span, b.arc, b.lengths, **more),
    "second": lambda b, **more: decoding.eisner_satta(b.span, b.arc, b.lengths, b.headed, **more),
    "packed": lambda b, **more: decoding.eisner_satta(
        b.span, b.arc, b.lengths, packed(b.headed), **more
    ),
    "naive": lambda b, **more: decoding.naive(b.span, b.arc, b.lengths, b.headed, **more),
}
each_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
LENGTHS = [3, 0, 17, 1, 8, 25, 2, 16, 7, 31, 9, 5]


def trees(decoded: decoding.Decoded, b: int, n: int) -> tuple:
    heads = None if decoded.heads is None else decoded.heads[b, : n + 1].tolist()
    return (
        heads,
        None if decoded.spans is None else decoded.spans[b].tolist(),
        float(decoded.scores[b]),
    )


@each_search
@pytest.mark.parametrize("pattern", ["normal", "ties"])
def test_the_result_does_not_depend_on_batch_size_order_padding_or_threads(
    search, pattern: str, monkeypatch
) -> None:
    # However little there is to do, let the threads do it.
    monkeypatch.setattr(batch_module, "_WORTH_A_THREAD", 1.0)
    size = random_batch(LENGTHS, 5, pattern=pattern)
    expected = search(size, threads=1)
    for threads in (2, 3, None):
        reordered = search(size, threads=threads)
        for b, n in enumerate(LENGTHS):
            assert trees(reordered, b, n) == trees(expected, b, n)
    order = np.random.default_rng(0).permutation(len(LENGTHS))
    mixed = search(Batch(*(part[order] for part in size)), threads=2)
    for offset, b in enumerate(order.tolist()):
        assert trees(mixed, offset, LENGTHS[b]) == trees(expected, b, LENGTHS[b])
    for b, n in enumerate(LENGTHS):
        part = Batch(
            size.span[b : b + 1, : n + 1, : n + 1],
            size.arc[b : b + 1, : n + 1, : n + 1],
            size.headed[b : b + 1, : n + 1, : n + 1, : n + 1],
            size.lengths[b : b + 1],
        )
        assert trees(search(part), 0, n) == trees(expected, b, n)


@each_search
def test_every_layout_and_type_of_scores_is_read(search) -> None:
    batch = random_batch([9, 14, 4], 2)
    expected = search(batch)
    scores, lengths = batch[:3], batch.lengths
    read_only = [part.copy() for part in scores]
    for part in read_only:
        part.flags.writeable = False
    variants = {
        "float64": [part.astype(np.float64) for part in scores],
        "Fortran order": [np.asfortranarray(part) for part in scores],
        "every other cell": [np.repeat(part, 2, axis=-1)[..., ::2] for part in scores],
        "reversed": [part[..., ::-1].copy()[..., ::-1] for part in scores],
        "big-endian": [part.astype(">f4") for part in scores],
        "read-only": read_only,
    }
    for name, parts in variants.items():
        decoded = search(Batch(*parts, lengths))
        for b, n in enumerate(lengths.tolist()):
            assert trees(decoded, b, n)[:2] == trees(expected, b, n)[:2], name
    listed = search(Batch(*(part.tolist() for part in scores), lengths.tolist()))
    assert trees(listed, 1, 14)[:2] == trees(expected, 1, 14)[:2]


@each_search
def test_scores_are_left_as_they_were(search) -> None:
    batch = random_batch([9, 14, 4], 2)
    before = [part.copy() for part in batch]
    search(batch)
    for part, copy in zip(batch, before, strict=True):
        np.testing.assert_array_equal(part, copy)


@each_search
def test_sentences_of_no_word_and_of_one_word(search) -> None:
    batch = random_batch([0, 1], 4)
    decoded = search(batch)
    assert decoded.scores[0] == 0.0
    if decoded.spans is not None:
        assert [rows[:, :2].tolist() for rows in decoded.spans] == [[], [[0, 1]]]
    if decoded.heads is not None:
        assert decoded.heads.tolist() == [[0, 0], [0, 0]]
    for b in (random_batch([0], 1), Batch(*(part[:0] for part in batch))):
        assert len(search(b).scores) == len(b.lengths)


CELLS = {
    "span": (2, 3, 5),
    "arc": (2, 3, 5),
    "root arc": (2, 5, 0),
    "headed": (2, 3, 5, 4),
    "hooked": (2, 3, 5, 9),
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("name", SEARCHES)
def test_nan_is_refused_and_the_sentence_named(name: str, cell: str) -> None:
    read = {
        "cky": {"span"},
        "eisner": {"arc", "root arc"},
        "first": {"span", "arc", "root arc"},
    }.get(name, set(CELLS))
    batch = random_batch([9, 9, 9], 6)
    part = {"span": batch.span, "arc": batch.arc, "root arc": batch.arc}.get(cell, batch.headed)
    part[CELLS[cell]] = np.nan
    if cell not in read:
        SEARCHES[name](batch)
        return
    with pytest.raises(ScoreError, match=r"sentence 2 .*NaN"):
        SEARCHES[name](batch)


@each_search
def test_plus_infinity_is_refused_and_the_sentence_named(search) -> None:
    batch = random_batch([9, 9], 6)
    batch.span[1, 2, 4] = batch.arc[1, 2, 4] = np.inf
    with pytest.raises(ScoreError, match=r"sentence 1 .*plus infinity"):
        search(batch)


@each_search
def test_a_sentence_whose_every_tree_is_forbidden_is_named(search) -> None:
    batch = random_batch([9, 9, 9], 6)
    batch.span[1, 0, 9] = -np.inf
    batch.arc[1, 4, :] = -np.inf
    with pytest.raises(ScoreError, match=r"sentence 1 .*forbid"):
        search(batch)


@each_search
@pytest.mark.parametrize("scale", [1e6, 1e20, 3e37])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_very_large_scores_are_fine(search, scale: float, dtype: type) -> None:
    """Scores times a power of two: the same trees, although their sums overflow float32."""
    power = 2.0 ** np.floor(np.log2(scale))
    batch = random_batch([13, 6], 8)
    expected = search(batch)
    decoded = search(
        Batch(*(part.astype(dtype) * dtype(power) for part in batch[:3]), batch.lengths)
    )
    for b, n in enumerate([13, 6]):
        assert trees(decoded, b, n)[:2] == trees(expected, b, n)[:2]
    np.testing.assert_allclose(decoded.scores, expected.scores * power, rtol=1e-5)


def test_float64_scores_beyond_float32_are_fine() -> None:
    batch = random_batch([13, 6], 8)
    expected = SEARCHES["second"](batch)
    decoded = SEARCHES["second"](
        Batch(*(part.astype(np.float64) * 2.0**900 for part in batch[:3]), batch.lengths)
    )
    for b, n in enumerate([13, 6]):
        assert trees(decoded, b, n)[:2] == trees(expected, b, n)[:2]


@each_search
def test_large_negative_masks_do_not_read_as_forbidden(search) -> None:
    """finfo.min is a usual mask: where two such parts cannot be avoided their sum overflows, yet
    there is a tree.
    """
    batch = random_batch([8, 8], 3)
    lowest = np.finfo(np.float32).min
    batch.span[0, 0, 8] = batch.span[0, 0, 1] = lowest
    batch.arc[0, 3, :] = batch.arc[0, 4, :] = lowest
    decoded = search(batch)
    assert np.isfinite(decoded.scores).all() and decoded.scores[0] < -6e38


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: decoding.cky(np.zeros((2, 4, 5)), [3, 3]),
            r"span must have the shape \[B, n\+1, n\+1\]",
        ),
        (lambda: decoding.cky(np.zeros((2, 4, 4)), [3]), "with B = 1"),
        (lambda: decoding.cky(np.zeros((1, 4, 4)), [4]), "between 0 and 3"),
        (lambda: decoding.cky(np.zeros((1, 4, 4)), [-1]), "between 0 and 3"),
        (lambda: decoding.cky(np.zeros((1, 4, 4)), [2.5]), "whole number"),
        (lambda: decoding.eisner(np.zeros((4, 4)), [3]), "arc must have the shape"),
        (
            lambda: decoding.eisner_satta(np.zeros((1, 4, 4)), np.zeros((1, 5, 5)), [3]),
            "arc must have the shape",
        ),
        (
            lambda: decoding.eisner_satta(
                np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [3], np.zeros((1, 4, 4))
            ),
            "headed must have the shape",
        ),
        (
            lambda: decoding.cky(np.zeros((1, 4, 4)), [3], threads=0),
            "threads must be a whole number",
        ),
        (
            lambda: decoding.kbest(np.zeros((1, 4, 4)), np.zeros((1, 5, 5)), [3], 2),
            "arc must have the shape",
        ),
        (
            lambda: decoding.naive(np.zeros((1, 4, 4)), np.zeros((1, 5, 5)), [3]),
            "arc must have the shape",
        ),
        (
            lambda: decoding.marginals(np.zeros((1, 4, 4)), np.zeros((1, 5, 5)), [3]),
            "arc must have the shape",
        ),
        (
            lambda: decoding.log_partition(np.zeros((1, 4, 4)), np.zeros((1, 5, 5)), [3]),
            "arc must have the shape",
        ),
    ],
)
def test_wrong_shapes_and_lengths_are_explained(call, message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        call()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_headed_scores_may_be_packed_everywhere(dtype: type) -> None:
    batch = random_batch(LENGTHS, 3)
    span, arc, headed = (part.astype(dtype) for part in batch[:3])
    rows = packed(headed)
    decoded = [decoding.marginals(span, arc, LENGTHS, second) for second in (headed, rows)]
    for cube, half in zip(decoded[0][:3], decoded[1][:3], strict=True):
        np.testing.assert_array_equal(cube, half)
    np.testing.assert_array_equal(packed(decoded[0].headed), decoded[1].headed)
    best = [decoding.kbest(span, arc, LENGTHS, 3, second) for second in (headed, rows)]
    for decoded_alone, other in zip(*best, strict=True):
        assert (
            decoded_alone.heads.tolist() == other.heads.tolist()
            and decoded_alone.scores.tolist() == other.scores.tolist()
        )
    risk = [decoding.minimum_bayes_risk(span, arc, LENGTHS, second) for second in (headed, rows)]
    assert risk[0].heads.tolist() == risk[1].heads.tolist()


ZEROS = np.zeros((1, 4, 4))
CALLS = {
    "cky": lambda scores: decoding.cky(scores, [3]),
    "eisner": lambda scores: decoding.eisner(scores, [3]),
    "eisner_satta": lambda scores: decoding.eisner_satta(ZEROS, scores, [3]),
    "eisner_satta, headed": lambda scores: decoding.eisner_satta(ZEROS, ZEROS, [3], scores),
    "naive": lambda scores: decoding.naive(scores, ZEROS, [3]),
    "kbest": lambda scores: decoding.kbest(ZEROS, scores, [3], 2),
    "kbest_iter": lambda scores: decoding.kbest_iter(scores, ZEROS[0]),
    "marginals": lambda scores: decoding.marginals(ZEROS, scores, [3]),
    "marginals, spans": lambda scores: decoding.marginals(scores, None, [3]),
    "log_partition": lambda scores: decoding.log_partition(None, scores, [3]),
    "lengths": lambda lengths: decoding.cky(ZEROS, lengths),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    "scores",
    [
        ZEROS + 1j,
        np.full((1, 4, 4), "0.5"),
        [[[0.0] * 4] * 3 + [[0.0]]],
        np.full((1, 4, 4), None),
        "many",
    ],
    ids=["complex", "strings", "ragged", "objects", "a word"],
)
def test_what_is_not_an_array_of_real_numbers_is_refused(call, scores) -> None:
    """Complex scores lost their imaginary part, the others ended in errors of numpy."""
    with pytest.raises(ScoreError, match="must be"):
        call(scores)


@pytest.mark.parametrize("k", [0, -1, 1.5, None, True, "3"])
def test_k_is_a_whole_number(k) -> None:
    """A k of 1.5 or None ended in errors of itertools, True gave one tree."""
    with pytest.raises(ScoreError, match="k must be a whole number of at least 1"):
        decoding.kbest(ZEROS, ZEROS, [3], k)
    assert len(decoding.kbest(ZEROS, ZEROS, [3], np.int64(3))[0].scores) == 3


def test_threads_that_race_for_sentences_lose_none(monkeypatch) -> None:
    monkeypatch.setattr(batch_module, "_WORTH_A_THREAD", 1.0)
    batch = random_batch([2, 9, 1, 4, 0, 6, 3, 12] * 8, 11)
    expected = SEARCHES["first"](batch, threads=1)
    for _ in range(100):
        decoded = SEARCHES["first"](batch, threads=8)
        assert decoded.scores.tolist() == expected.scores.tolist()
        assert decoded.heads.tolist() == expected.heads.tolist()


def test_many_python_threads_may_search_at_once(monkeypatch) -> None:
    monkeypatch.setattr(batch_module, "_WORTH_A_THREAD", 1.0)
    parts = [random_batch([20 + s, 12, 5, 18], s) for s in range(12)]
    expected = [SEARCHES["second"](part, threads=1).scores.tolist() for part in parts]
    with ThreadPoolExecutor(6) as pool:
        decoded = list(
            pool.map(lambda part: SEARCHES["second"](part, threads=3).scores.tolist(), parts * 3)
        )
    assert decoded == expected * 3


def _search_in_child(queue) -> None:
    queue.put(SEARCHES["first"](random_batch([22, 9, 14, 30], 7), threads=2).scores.tolist())


@pytest.mark.skipif(sys.platform != "linux", reason="fork is safe to ask for on Linux only")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_worker_may_search_after_its_parent_has(monkeypatch) -> None:
    monkeypatch.setattr(batch_module, "_WORTH_A_THREAD", 1.0)
    expected = SEARCHES["first"](random_batch([22, 9, 14, 30], 7), threads=2).scores.tolist()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_search_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=300) == expected
    child.join()


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch) -> None:
    monkeypatch.setattr(batch_module, "_WORTH_A_THREAD", 1.0)

    def search(*listed: object) -> None:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        batch_module.run_each(search, np.array([5, 5, 5]), 4, 2)


def test_importing_loads_neither_the_library_nor_torch() -> None:
    code = (
        "import sys, arcspan.decoding; from arcspan.decoding import native; "
        "print({'torch', 'scipy'} & set(sys.modules), native._library.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set() 0"


@pytest.mark.parametrize("search", [decoding.eisner_satta, decoding.naive])
def test_scores_at_the_end_of_float64_have_a_tree_or_an_error(search) -> None:
    scores = np.zeros((1, 4, 4))
    scores[0, 2, 1] = 1.7e308
    decoded = search(np.zeros((1, 4, 4)), scores, [3])
    assert decoded.heads[0, 2] == 1 and decoded.scores[0] == 1.7e308
    assert search(np.zeros((1, 4, 4)), -scores, [3]).heads[0, 2] != 1
    span = np.zeros((1, 4, 4))
    span[0, 0, 3] = 1.7e308
    with pytest.raises(
        ScoreError, match=r"sentence 0 of the batch has a score .* too large to add"
    ):
        search(span, scores, [3])
