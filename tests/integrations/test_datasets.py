from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")

from datasets import Dataset, disable_progress_bars

from arcspan.parser import Parser

TEXTS = ["Ada sees the tree. Kurt plays here.", "Logic plays a role.", ""] * 4


@pytest.mark.parametrize("processes", [None, 2])
def test_a_dataset_is_mapped_by_the_parser(parser: Parser, processes: int | None) -> None:
    def add_trees(batch: dict[str, list[str]]) -> dict[str, Any]:
        parse_lists = list(parser.stream(batch["text"]))
        return {"brackets": [[parse.brackets() for parse in parses] for parses in parse_lists]}

    disable_progress_bars()
    dataset = Dataset.from_dict({"text": TEXTS}).map(
        add_trees, batched=True, batch_size=5, num_proc=processes
    )
    assert list(dataset["brackets"]) == [
        [parse.brackets() for parse in parser(text)] for text in TEXTS
    ]
