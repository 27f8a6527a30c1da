"""Small files in the layouts that treebanks come in."""

from __future__ import annotations

from pathlib import Path

TREES = """\
(TOP (S (NP (NNP Logic)) (VP (VBZ plays) (NP (DT a) (JJ maximal) (NN role)) (ADVP (RB here)))))
(TOP (FRAG (-LRB- -LRB-) (NP (NN sic)) (-RRB- -RRB-)))
(TOP (S (VP (VB Go))))
"""

WORDS = """\
# sent_id = one
# text = Logic plays a maximal role here
1\tLogic\tlogic\tPROPN\tNNP\tNumber=Sing\t2\tnsubj\t_\t_
2\tplays\tplay\tVERB\tVBZ\t_\t0\troot\t_\t_
3\ta\ta\tDET\tDT\t_\t5\tdet\t_\t_
4\tmaximal\tmaximal\tADJ\tJJ\t_\t5\tamod\t_\t_
5\trole\trole\tNOUN\tNN\t_\t2\tobj\t_\t_
6\there\there\tADV\tRB\t_\t2\tadvmod\t_\t_

# sent_id = two
# text = (sic)
1\t(\t(\tPUNCT\t-LRB-\t_\t2\tpunct\t_\tSpaceAfter=No
2\tsic\tsic\tNOUN\tNN\t_\t0\troot\t_\tSpaceAfter=No
3\t)\t)\tPUNCT\t-RRB-\t_\t2\tpunct\t_\t_

# sent_id = three
# text = Go
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

"""


def write(folder: Path, trees: str = TREES, words: str = WORDS) -> tuple[Path, Path]:
    """A pair of files with these contents."""
    brackets, conll = folder / "a.ptb", folder / "a.conllu"
    brackets.write_text(trees, encoding="utf-8")
    conll.write_text(words, encoding="utf-8")
    return brackets, conll
