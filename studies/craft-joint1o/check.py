"""Hold a finished run against what it must reach, and keep its figures beside the recipe.

python studies/craft-joint1o/check.py RUN      # RUN: the folder that training wrote to
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from arcspan.files import atomic_write

# dev LAS and F1 at least, search and margin at most this share of the training time
LEAST = {"las": 84.0, "f1": 82.0}
MOST_STRUCTURE = 0.08


def check(run: Path, target: Path) -> bool:
    """Write the run's figures and verdicts to `target`; whether all goals are met."""
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    log = map(json.loads, (run / "log.jsonl").read_text(encoding="utf-8").splitlines())
    epochs = [record for record in log if record["kind"] == "epoch"]
    seconds = sum(record["seconds"] for record in epochs)
    share = sum(record["seconds"] * record["structure_share"] for record in epochs) / seconds
    met = {f"dev {name} >= {least}": result["dev"][name] >= least for name, least in LEAST.items()}
    met[f"structure share <= {MOST_STRUCTURE}"] = share <= MOST_STRUCTURE
    data = {**result, "minutes": seconds / 60, "structure_share": share, "met": met}
    with atomic_write(target) as file:
        file.write(json.dumps(data, indent=1) + "\n")
    return all(met.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = Path(__file__).parent / "result.json"
    good = check(Path(sys.argv[1]), path)
    print(path.read_text(encoding="utf-8"))
    sys.exit(0 if good else "a goal is not met")
