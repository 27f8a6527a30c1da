"""From licensed treebanks as they are distributed to paired files in the standard splits.

Each importer knows where a treebank keeps its files, how it splits them and what marks it leaves in its
trees; what comes out is the same for all: TARGET/train|dev|test.ptb (one tree per line, root TOP, no function
tags, traces or features) and TARGET/train|dev|test.conllu, the same sentences in the same order.
"""

from arcspan.treebanks.importers.penn import ImportReport, import_ctb, import_ptb
from arcspan.treebanks.importers.spmrl import import_spmrl

__all__ = ["ImportReport", "import_ctb", "import_ptb", "import_spmrl"]
