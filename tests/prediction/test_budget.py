"""The memory that batches share.

In a file of its own, which pytest runs before the others: they would wait for minutes where a change
forgets to notify those who wait, and this test fails.
"""

from __future__ import annotations

import threading

from arcspan.prediction.runner import _SharedMemory


def test_memory_that_is_taken_is_waited_for_until_it_is_free() -> None:
    memory = _SharedMemory(10)
    is_waiting = threading.Event()
    has_memory = threading.Event()

    def wait_for_memory() -> None:
        is_waiting.set()
        with memory.reserve(6):
            has_memory.set()

    # A daemon: if it waited forever, the tests would still end.
    thread = threading.Thread(target=wait_for_memory, daemon=True)
    with memory.reserve(5):
        thread.start()
        assert is_waiting.wait(10)
        assert not has_memory.wait(0.1)
    thread.join(10)
    assert has_memory.is_set() and not thread.is_alive()


def test_more_memory_than_there_is_means_all_of_it() -> None:
    memory = _SharedMemory(10)
    for _ in range(2):
        with memory.reserve(11):
            assert memory._free == 0
    assert memory._free == 10
