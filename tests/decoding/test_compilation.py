"""The first search of a process: who is told that it compiles, and what a fork does meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def run(code: str, cache: str) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120
    )
    return done.stdout.strip() or done.stderr


def test_a_listener_hears_of_compiling_and_of_nothing_when_compiled_code_is_found(tmp_path) -> None:
    code = """
import numpy as np
from arcspan import decoding
heard = []
decoding.on_compile(heard.append)
decoding.cky(np.ones((1, 4, 4)), [3])
decoding.cky(np.ones((1, 4, 4)), [3])
print(heard)
"""
    assert run(code, str(tmp_path)) == "['cky']"
    assert run(code, str(tmp_path)) == "[]"


FORK = """
import importlib.abc, os, sys, threading, warnings
import numpy as np
from arcspan import decoding
warnings.simplefilter("ignore")
begun = threading.Event()

class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core":
            begun.set()

{signal}
thread = threading.Thread(target=decoding.cky, args=(np.ones((1, 4, 4)), [3]))
thread.start()
begun.wait(60)
child = os.fork()
if child == 0:
    os._exit(0 if decoding.cky(np.ones((1, 4, 4)), [3]).scores[0] == 5 else 1)
ended = threading.Thread(target=lambda: print(os.waitpid(child, 0)[1]), daemon=True)
ended.start()
ended.join(60)
if ended.is_alive():
    print("the child hangs")
    os.kill(child, 9)
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(
    "signal", ["sys.meta_path.insert(0, Watch())", "decoding.on_compile(lambda name: begun.set())"]
)
def test_forking_while_another_thread_decodes_for_the_first_time_leaves_a_child_that_decodes(
    signal: str, tmp_path
) -> None:
    """Issue 15: the child inherited the import lock, or the compiler's, of a thread that it does not have."""
    assert run(FORK.format(signal=signal), str(tmp_path)) == "0"
