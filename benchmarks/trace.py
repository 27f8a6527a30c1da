"""How many functions of arcspan one warm call passes, and which: what a reader of the code has to
follow.

python benchmarks/trace.py ["Some text."]
"""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import arcspan


def main() -> None:
    text = sys.argv[1] if len(sys.argv) > 1 else "Logic plays a maximal role here."
    parser = arcspan.load(threads=1)
    parser(text)
    passed: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and "/arcspan/" in file and not name.startswith("<"):
            passed[file.rpartition("/arcspan/")[2], name] += 1

    sys.setprofile(note)
    parser(text)
    sys.setprofile(None)
    rooms = Counter(file.partition("/")[0] for file, _ in passed)
    print(
        f"{len(passed)} functions: "
        + ", ".join(f"{room} {count}" for room, count in rooms.most_common())
    )
    for (file, name), count in passed.items():
        print(f"  {file} {name}" + (f", {count} times" if count > 1 else ""))


if __name__ == "__main__":
    main()
