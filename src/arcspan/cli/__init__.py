"""The command line `arcspan`: one module per command, imported only when that command runs.

Exit codes: 0 done; 2 the input or the call is wrong (one line with the file, the line and the
reason); 1 anything else.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import click

from arcspan._version import __version__
from arcspan.cli.progress import note
from arcspan.cli.terminal import complain_error, protect_terminals
from arcspan.errors import ArcspanError

# The line of `arcspan --help` for each command; the module of the same name holds `command`.
COMMANDS = {
    "parse": "Parse text or words into both trees.",
    "search": "Find constituents or words in files of trees.",
    "measure": "Measure the syntax of texts or trees.",
    "train": "Train a parser on treebanks with both trees, or with one.",
    "export": "Turn a training checkpoint into a model bundle.",
    "evaluate": "Score predicted trees against gold trees.",
    "compare": "Is system A better than system B? Significance tests.",
    "breakdown": "Scores by length, width and label, with plots.",
    "treebank": "Statistics, checks, conversion and import of treebanks.",
    "serve": "Serve the HTTP API and the web page.",
    "benchmark": "Measure parsing and search on this machine.",
}


class _LazyGroup(click.Group):
    """A group that imports a command's module only when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"arcspan.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, "-V", "--version", prog_name="arcspan")
@click.option(
    "-q", "--quiet", is_flag=True, help="No progress bars and no notes; results and errors only."
)
@click.pass_context
def arcspan(ctx: click.Context, quiet: bool) -> None:
    """Constituency and dependency trees at once, guaranteed compatible."""
    ctx.obj = {"quiet": quiet}


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    warnings.showwarning = _show_warning
    code = run(args)
    if code:
        # After Ctrl-C or an error, nobody waits for threads that are still parsing a batch.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def run(args: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _repair_standard_streams()
    try:
        code = arcspan.main(args, prog_name="arcspan", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except ArcspanError as error:
        return _complain(str(error), 2)
    except BrokenPipeError:
        # The reader (head, less) has gone; what Python flushes at its exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", 1)
    except OSError as error:  # no such file, a full disk, a closed standard output
        if error.errno == errno.EBADF:
            return _complain("standard output is closed", 1)
        file = f"{error.filename}: " if error.filename else ""
        code = 2 if isinstance(error, _WRONG_PATH) else 1
        return _complain(f"{file}{error.strerror or error}", code)
    except MemoryError:
        return _complain("out of memory", 1)
    except Exception as error:
        if os.environ.get("ARCSPAN_TRACEBACK"):
            traceback.print_exc()
        hint = "set ARCSPAN_TRACEBACK=1 to see where"
        return _complain(f"{type(error).__name__}: {error} ({hint})", 1)


_WRONG_PATH = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def _repair_standard_streams() -> None:
    """Reopen closed standard streams, and make sure of what can be written to them."""
    # A descriptor that was closed (`>&-`) would be given to the next file that is opened, which
    # would then get what others print. `open` takes the lowest free number.
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Writing to it is an error.
            os.open(os.devnull, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    else:
        # Names of files may hold what UTF-8 cannot encode.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    # Words and names of files may hold what a terminal would obey.
    protect_terminals()


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, *line: Any, **options: Any
) -> None:
    """Show a warning of arcspan as a note, and those of other packages as Python does."""
    if category is UserWarning and Path(filename).is_relative_to(Path(__file__).parents[1]):
        note(f"warning: {message}")
    else:
        _python_shows_warning(message, category, filename, *line, **options)


_python_shows_warning = warnings.showwarning


def _complain(message: str, code: int) -> int:
    complain_error(message)
    return code
