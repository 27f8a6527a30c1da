"""What a cluster parses a day: the speed of one core, alone and with all cores of this machine
busy.

    python benchmarks/sizing.py TEXT.txt | TREEBANK.conllu[.xz] [--model BUNDLE] [--cores 1 2]
    [--seconds 20] python benchmarks/sizing.py ../shared/treebanks/gum/dev.conllu.xz --write
    docs/integrations.md

Of a treebank, the raw text of its sentences is parsed. Each process has its own parser with one
thread, as a Ray worker has, and goes through the text, again and again from a place of its own,
until the time is over; loading the model and a first round of sentences do not count. Speeds are by
seconds of the processor, so a machine that has other work too does not spoil them much (it is
told). A cluster is reckoned at the speed of the busiest machine measured, times its workers: shards
are independent, so nothing but the storage that they share can slow it down. --write puts the table
between the marks of the page, with what it was measured on.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import resource
import time
from pathlib import Path
from typing import Any

from arcspan.parser import Parser
from arcspan.treebanks import read_conllu
from arcspan.treebanks.streams import read_lines

WORKERS = (1, 8, 64, 512)
DAY = 24 * 60 * 60
BEGIN, END = "<!-- sizing: benchmarks/sizing.py -->", "<!-- end of sizing -->"


def texts(path: str) -> list[str]:
    """Pieces of raw text: the sentences of a treebank, or the lines of a text."""
    if re.search(r"\.conllu(\.gz|\.xz)?$", path):
        return [sentence.text or " ".join(sentence.tree.words) for sentence in read_conllu(path)]
    return [line for line in read_lines(path) if line.strip()]


def work(
    model: str | None, path: str, share: float, seconds: float, start_line: Any
) -> dict[str, float]:
    """One worker: sentences and words parsed, and seconds taken, on the clock and of the processor."""
    parser = Parser(model, threads=1)
    lines = texts(path)
    begin = int(share * len(lines))
    lines = lines[begin:] + lines[:begin]
    for _ in parser.stream(lines[:64]):
        pass
    start_line.wait()
    sentences = words = position = 0
    clock, processor = time.perf_counter(), time.process_time()
    while time.perf_counter() - clock < seconds:
        chunk = [lines[(position + k) % len(lines)] for k in range(256)]
        position += len(chunk)
        for parses in parser.stream(chunk):
            sentences += len(parses)
            words += sum(map(len, parses))
    return {
        "sentences": sentences,
        "words": words,
        "clock": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measure(model: str | None, path: str, cores: int, seconds: float) -> dict[str, float]:
    """Sentences and words per second of one core, with `cores` workers at work; megabytes of the
    largest.
    """
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(cores) as pool:
        start_line = manager.Barrier(cores)
        shares = [k / cores for k in range(cores)]
        processes = pool.starmap(
            work, [(model, path, share, seconds, start_line) for share in shares], chunksize=1
        )
    return {
        "cores": cores,
        "sentences": sum(process["sentences"] for process in processes)
        / sum(process["processor"] for process in processes),
        "words": sum(process["words"] for process in processes)
        / sum(process["processor"] for process in processes),
        "megabytes": max(process["megabytes"] for process in processes),
        "busy": sum(process["processor"] for process in processes)
        / sum(process["clock"] for process in processes),
    }


def processor_name() -> str:
    try:
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        return names[0] if names else platform.processor()
    except OSError:
        return platform.processor() or platform.machine()


def page(rows: list[dict[str, float]], model: str, source: str) -> str:
    """The table of the documentation."""
    lines = [
        f"Measured with the model {model}, one thread per worker, on the text of `{source}`, {processor_name()},",
        f"{os.cpu_count()} cores:",
        "",
        "| workers on the machine | sentences per second and core | words per second and core | MB per worker |",
        "|---|---|---|---|",
        *(
            f"| {row['cores']:.0f} | {row['sentences']:.0f} | {row['words']:.0f} | {row['megabytes']:.0f} |"
            for row in rows
        ),
        "",
        "which makes:",
        "",
        "| workers in the cluster | million sentences a day | million words a day |",
        "|---|---|---|",
    ]
    last = rows[-1]
    for workers in WORKERS:
        per_day = [workers * DAY * last[unit] / 1e6 for unit in ("sentences", "words")]
        lines.append(f"| {workers} | {rounded(per_day[0])} | {rounded(per_day[1])} |")
    return "\n".join(lines) + "\n"


def rounded(number: float) -> str:
    two = float(f"{number:.2g}")
    return f"{two:,.0f}" if two >= 10 else f"{two:g}"


def write(path: Path, table: str) -> None:
    text = path.read_text(encoding="utf-8")
    before, begin, old_table = text.partition(BEGIN)
    _, end, after = old_table.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path}: no place for the table: {BEGIN} ... {END}")
    path.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("text")
    options.add_argument("--model")
    options.add_argument("--cores", type=int, nargs="+", default=sorted({1, os.cpu_count() or 1}))
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--json", action="store_true")
    options.add_argument("--write", type=Path)
    arguments = options.parse_args()
    rows = []
    for cores in arguments.cores:
        row = measure(arguments.model, arguments.text, cores, arguments.seconds)
        if row["busy"] < 0.9:
            share = f"{row['busy']:.0%}"
            print(
                f"warning: {cores} workers had {share} of their cores: measure again on a quiet machine"
            )
        rows.append(row)
    name = Parser(arguments.model).config.get("name") or "without a name"
    table = page(rows, name, "/".join(Path(arguments.text).parts[-2:]))
    print(json.dumps(rows) if arguments.json else table)
    if arguments.write:
        write(arguments.write, table)


if __name__ == "__main__":
    main()
