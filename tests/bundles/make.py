"""Make the toy bundle that tests parse with: a small LSTM parser that knows a toy grammar by heart.

    python -m tests.bundles.make

Kept in the repository (a quarter of a megabyte), so that tests that only parse need neither torch
nor a minute.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from arcspan.training import read_config, train
from arcspan.training.export import export
from tests.toy import toy_pairs
from tests.training.test_training import configure

TOY = Path(__file__).parent / "toy"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        changes = {"language": "en", "training__epochs": 25, "training__average": 0.5}
        config = read_config(configure(Path(folder), toy_pairs(60), **changes))
        print(train(config, bars=False)["dev"])
        export(Path(folder) / "run", TOY)


if __name__ == "__main__":
    main()
