"""Files and trees: bracket files, CoNLL-U and CoNLL-X, paired reading, statistics."""
