"""Importers from licensed treebanks as they are distributed to paired files in the standard splits.

An importer knows a treebank's files, its splits and the marks in its trees. All importers write the
same: TARGET/train|dev|test.ptb (one tree per line, root TOP, no function tags, traces or features)
and TARGET/train|dev|test.conllu, the same sentences in the same order.
"""

from arcspan.treebanks.importers.penn import ImportReport, import_ctb, import_ptb
from arcspan.treebanks.importers.spmrl import import_spmrl

__all__ = ["ImportReport", "import_ctb", "import_ptb", "import_spmrl"]
