"""Corpora beyond one machine: Ray Data, one parser per worker, one file per task.

When a worker dies, Ray starts another and gives it the same task; since a parse does not depend on
what is parsed beside it, the output is the same, byte for byte, as that of one process that works
on the tasks in turn.

`ParseBatches` is for pipelines of your own:

>>> import ray
>>> dataset = ray.data.from_items([{"text": "Logic plays a role."}])  # doctest: +SKIP
>>> options = {"column": "text"}
>>> dataset.map_batches(ParseBatches, fn_constructor_kwargs=options)  # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from arcspan.errors import ArcspanError, MissingExtraError
from arcspan.parser import Parser

try:
    import ray
    import ray.data
except ImportError:
    raise MissingExtraError("--engine ray", "ray") from None


Work = Callable[[Parser, dict[str, Any]], dict[str, Any]]
"""A function from a parser and a task to its outcome.

Both are flat, for Arrow, in which no value may be None.
"""


class _Worker:
    """One parser in a process of its own, with the work that it does for every task."""

    def __init__(self, work: Work, options: dict[str, Any]) -> None:
        self.work = work
        # Ray gives each worker one processor.
        self.parser = Parser(threads=1, **options)

    def __call__(self, task: dict[str, Any]) -> dict[str, Any]:
        return self.work(self.parser, task)


def run_tasks(
    work: Work, tasks: Sequence[dict[str, Any]], *, workers: int | None = None, **options: Any
) -> Iterator[dict[str, Any]]:
    """Run `work(parser, task)` for every task, in `workers` processes with one thread each.

    Results come as tasks are finished, in no order. `options` are those of `Parser`. Ray connects
    to the cluster that RAY_ADDRESS names, or starts one on this machine; `workers` is one per
    processor by default.
    """
    if not tasks:
        return
    with cluster(workers):
        # No more workers than tasks, or the others would load a model for nothing.
        count = workers or int(ray.cluster_resources().get("CPU", 1))
        dataset = ray.data.from_items(list(tasks), override_num_blocks=len(tasks)).map(
            _Worker,
            fn_constructor_args=(work, options),
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(size=min(count, len(tasks))),
        )
        yield from dataset.iter_rows()


@contextlib.contextmanager
def cluster(workers: int | None = None) -> Iterator[None]:
    """Use the running cluster, that of RAY_ADDRESS, or one on this machine for the block."""
    # Ray's progress bars and notes would mix with those of the command line.
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if ray.is_initialized():
        yield
        return
    address = os.environ.get("RAY_ADDRESS")
    if address:
        try:
            ray.init(logging_level="WARNING")
        except ConnectionError as error:
            raise ArcspanError(f"no Ray cluster at RAY_ADDRESS={address}: {error}") from None
    else:
        processors = max(workers or 0, os.cpu_count() or 1)
        ray.init(num_cpus=processors, include_dashboard=False, logging_level="WARNING")
    try:
        yield
    finally:
        ray.shutdown()


class ParseBatches:
    """A callable for `ray.data.Dataset.map_batches`: from rows with texts to one row per sentence.

    column    the column to parse; the others are dropped
    options   those of `Parser`

    The columns are those of `arcspan.integrations.parquet`, `row` counting from 0 in each batch.
    """

    def __init__(self, column: str = "text", **options: Any) -> None:
        self.column = column
        self.parser = Parser(**{"threads": 1, **options})

    def __call__(self, batch: dict[str, Any]) -> Any:
        """Parse a batch of rows into a `pyarrow.Table`."""
        from arcspan.integrations.parquet import to_table

        # Ray hands lists of words over as arrays of numpy.
        contents = []
        for content in batch[self.column]:
            contents.append(content if isinstance(content, str) else list(content))
        return to_table(self.parser.stream(contents))
