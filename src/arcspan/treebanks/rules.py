"""Head tables in files."""

from __future__ import annotations

import os
from pathlib import Path

from arcspan.errors import FileError
from arcspan.trees.conversion import HeadRules
from arcspan.trees.conversion.head_tables import TABLES


def load_rules(source: str | os.PathLike[str]) -> HeadRules:
    """A head table by its name ("ptb", "ctb") or from a file."""
    if source in TABLES:
        return HeadRules.load(str(source))
    path = Path(source)
    try:
        return HeadRules.parse(path.read_text(encoding="utf-8"), name=str(path))
    except OSError as error:
        what = f"no such rules: {error.strerror} (head tables by name: {', '.join(TABLES)})"
        raise FileError(what, path=path) from error
    except UnicodeDecodeError as error:
        raise FileError(f"not a text in UTF-8: {error.reason}", path=path) from error
