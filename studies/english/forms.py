"""Gold sentences in forms that users write and treebanks rarely have.

    python studies/english/forms.py TREEBANKS FOLDER

TREEBANKS has gum/, ewt/ and masc/. FOLDER gets a file for each treebank and each form:

typos     slips of the finger (a neighbouring key, a letter left out, doubled or exchanged) and words without their
          apostrophe. The trees stay; the lemma of a word with a slip is unknown
quoted    the sentence as direct speech: "Is it late?" she asked. "It is late," said Mary. She asked, "Is it late?"
web       one or two @names in front, or emoji and emoticons at the end

Each sentence takes each form by its share, drawn from its position, so that the files are always the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from arcspan.treebanks import DocumentFilter, Pair, read_pairs, write_pairs
from arcspan.trees import ConstituencyTree, DependencyTree

NOT_FREE = ("essay", "fiction", "letter", "podcast", "whow", "conversation")  # genres of GUM

# Keys beside each key of an American keyboard.
NEIGHBOURS = {
    "a": "qwsz", "b": "vghn", "c": "xdfv", "d": "serfcx", "e": "wsdr", "f": "drtgvc",
    "g": "ftyhbv", "h": "gyujnb", "i": "ujko", "j": "huikmn", "k": "jiolm", "l": "kop",
    "m": "njk", "n": "bhjm", "o": "iklp", "p": "ol", "q": "wa", "r": "edft", "s": "awedxz",
    "t": "rfgy", "u": "yhji", "v": "cfgb", "w": "qase", "x": "zsdc", "y": "tghu", "z": "asx",
}  # fmt: skip
TYPO_SENTENCES = 0.08
TYPO_WORDS = 0.1
LOST_APOSTROPHES = 0.4

# How much of the sentences with each final mark becomes direct speech.
QUOTED = {"?": 0.4, "!": 0.4, ".": 0.05}
LONGEST_QUOTED = 20
VERBS = {
    "?": (("asked", "ask"), ("asked", "ask"), ("wondered", "wonder"), ("said", "say")),
    "!": (("cried", "cry"), ("shouted", "shout"), ("exclaimed", "exclaim"), ("said", "say")),
    ".": (("said", "say"), ("said", "say"), ("replied", "reply"), ("explained", "explain")),
}
PRONOUNS = ("he", "she", "they", "I", "we")
NAMES = ("Mary", "Peter", "Anna", "Johnson", "Ahmed", "Kim", "Rosa", "Clark")
NOUNS = ("man", "minister", "teacher", "girl", "spokesman", "driver", "doctor", "mother")
QUOTES = (('"', '"'), ('"', '"'), ("“", "”"), ("‘", "’"))

HANDLES = 0.03
PICTURES = 0.02
HANDLE_NAMES = (
    "@JaneDoe", "@mike_92", "@BBCNews", "@anna", "@realTom", "@user123", "@TheRock", "@nytimes",
    "@sam.k", "@Delta", "@cat_lover", "@Airline", "@LeoM", "@mayor_office", "@x_y_z", "@Prof_B",
)  # fmt: skip
EMOJI = ("😂", "😊", "❤️", "👍", "😭", "🔥", "🙏", "😍", "🎉", "🤔", ":)", ":(", ";-)", ":D", "<3")


class Word(NamedTuple):
    """A word to add."""

    form: str
    tag: str
    upos: str
    lemma: str
    relation: str


def with_typos(pair: Pair, draw: random.Random) -> Pair | None:
    """Return the sentence with slips in some of its words; None where no word could have one."""
    words = [_mistyped(word, draw) for word in pair.words]
    if tuple(words) == pair.words:
        return None
    constituency, dependencies = pair
    if constituency is not None:
        constituency = ConstituencyTree(words, constituency.tags, constituency.spans)
    if dependencies is not None:
        # A lemma that differs from its word by a slip teaches nothing about lemmas.
        lemmas = [
            lemma if word == before else ""
            for word, before, lemma in zip(words, pair.words, dependencies.lemmas, strict=True)
        ]
        dependencies = DependencyTree(
            dependencies.heads,
            dependencies.relations,
            words,
            dependencies.tags,
            dependencies.upos,
            lemmas,
            dependencies.features,
        )
    return Pair(constituency, dependencies)


def _mistyped(word: str, draw: random.Random) -> str:
    """Return the word with a slip, or as it is."""
    if word[:1] in "'’" or word.lower() in ("n't", "n’t"):
        lost = draw.random() < LOST_APOSTROPHES
        shorter = word.replace("'", "").replace("’", "")
        return shorter if lost and shorter else word
    if len(word) < 3 or not word.isalpha() or draw.random() >= TYPO_WORDS:
        return word
    slip = draw.choice(("neighbour", "neighbour", "dropped", "doubled", "exchanged"))
    k = draw.randrange(1, len(word))
    if slip == "dropped":
        return word[:k] + word[k + 1 :]
    if slip == "doubled":
        return word[:k] + word[k] + word[k:]
    if slip == "exchanged":
        return word[: k - 1] + word[k] + word[k - 1] + word[k + 1 :]
    keys = NEIGHBOURS.get(word[k].lower())
    return word if keys is None else word[:k] + draw.choice(keys) + word[k + 1 :]


def quoted(pair: Pair, draw: random.Random) -> Pair | None:
    """Return the sentence as direct speech; None where it does not end with a mark or has quotes.

    Constituents follow the Penn Treebank: the speech is a clause under S, or under SINV where the
    verb stands before its subject. In GUM and EWT its root is the ccomp of the verb, and the quotes
    and the comma belong to the speech.
    """
    words = pair.words
    mark = words[-1]
    if not 3 <= len(words) <= LONGEST_QUOTED or set('"“”‘’`') & set("".join(words)):
        return None
    tree = pair.constituency
    if tree is not None and (len(tree.spans) < 2 or tree.spans[1][:2] != (0, len(words))):
        return None
    speech = words
    if mark == ".":  # becomes a comma outside of the speech
        speech = words[:-1]
        if pair.dependencies is not None and len(words) in pair.dependencies.heads:
            return None
    speaker, verb = _speaker(draw), draw.choice(VERBS[mark])
    is_first = draw.random() < 0.25  # She asked, "..."
    can_invert = not is_first and speaker[0].tag != "PRP"  # not "asked she"
    is_inverted = can_invert and draw.random() < 0.6
    opening, closing = draw.choice(QUOTES)
    builder = _Builder(len(speech))
    if is_first:
        _said_before(builder, speaker, verb, mark, opening, closing)
    else:
        _said_after(builder, speaker, verb, mark, opening, closing, is_inverted)
    return builder.build(pair, is_first, is_inverted)


class _Builder:
    """Words of the new sentence in order; the speech is a stretch of it."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.begin = 0
        self.words: list[Word | None] = []  # None: a word of the speech
        self.spans: list[tuple[int, int, str]] = []
        self.verb = 0  # position from 1
        # Words that depend on the root of the speech, which is known only when the trees are joined.
        self.of_speech: list[int] = []

    def add_speech(self) -> None:
        self.begin = len(self.words)
        self.words += [None] * self.length

    def add_mark(self, form: str, tag: str, *, of_speech: bool) -> None:
        if of_speech:
            self.of_speech.append(len(self.words))
        self.words.append(Word(form, tag, "PUNCT", form, "punct"))

    def add_speaker(self, speaker: Sequence[Word]) -> None:
        begin = len(self.words)
        self.words += speaker
        self.spans.append((begin, len(self.words), "NP"))

    def add_verb(self, verb: tuple[str, str]) -> None:
        self.words.append(Word(verb[0], "VBD", "VERB", verb[1], "root"))
        self.verb = len(self.words)

    def build(self, pair: Pair, is_first: bool, is_inverted: bool) -> Pair:
        """Return both trees of the new sentence, as far as the speech has them."""
        forms = [
            pair.words[k - self.begin] if word is None else word.form
            for k, word in enumerate(self.words)
        ]
        if is_first:
            forms[0] = forms[0][0].upper() + forms[0][1:]
        tree, dependencies = pair
        new_tree = None
        if tree is not None:
            new_tree = self._constituency(tree, forms, "SINV" if is_inverted else "S")
        new_dependencies = None
        if dependencies is not None:
            new_dependencies = self._dependencies(dependencies, forms)
        return Pair(new_tree, new_dependencies)  # type: ignore[arg-type]

    def _constituency(
        self, tree: ConstituencyTree, forms: list[str], label: str
    ) -> ConstituencyTree:
        tags = [
            tree.tags[k - self.begin] if word is None else word.tag
            for k, word in enumerate(self.words)
        ]
        n = len(forms)
        spans = [(0, n, "TOP"), (0, n, label), *self.spans]
        # The first span is the wrapper. A final mark that is left out shortens what it stood in.
        for i, j, inner in tree.spans[1:]:
            end = min(j, self.length)
            if i < end:
                spans.append((self.begin + i, self.begin + end, inner))
        return ConstituencyTree(forms, tags, spans)

    def _dependencies(self, tree: DependencyTree, forms: list[str]) -> DependencyTree:
        heads: list[int] = []
        relations: list[str] = []
        tags: list[str] = []
        upos: list[str] = []
        lemmas: list[str] = []
        for k, word in enumerate(self.words):
            if word is None:
                m = k - self.begin
                head = tree.heads[m]
                heads.append(self.begin + head if head else self.verb)
                relations.append(tree.relations[m] if head else "ccomp")
                tags.append(tree.tags[m])
                upos.append(tree.upos[m])
                lemmas.append(tree.lemmas[m])
            else:
                heads.append(self._head(k, word, self.begin + tree.root))
                relations.append(word.relation)
                tags.append(word.tag)
                upos.append(word.upos)
                lemmas.append(word.lemma)
        # Features of the new words are unknown, and a sentence has all of its features or none.
        return DependencyTree(heads, relations, forms, tags, upos, lemmas)

    def _head(self, k: int, word: Word, root_of_speech: int) -> int:
        """Return the head of an added word at index k, a position from 1."""
        if word.relation == "root":
            return 0
        if k in self.of_speech:
            return root_of_speech
        if word.relation == "det":  # the article stands before its noun
            return k + 2
        return self.verb


def _speaker(draw: random.Random) -> list[Word]:
    """Return the words of a subject."""
    which = draw.random()
    if which < 0.5:
        form = draw.choice(PRONOUNS)
        return [Word(form, "PRP", "PRON", form, "nsubj")]
    if which < 0.75:
        form = draw.choice(NAMES)
        return [Word(form, "NNP", "PROPN", form, "nsubj")]
    form = draw.choice(NOUNS)
    article = Word("the", "DT", "DET", "the", "det")
    return [article, Word(form, "NN", "NOUN", form, "nsubj")]


def _said_after(
    builder: _Builder,
    speaker: Sequence[Word],
    verb: tuple[str, str],
    mark: str,
    opening: str,
    closing: str,
    is_inverted: bool,
) -> None:
    """Lay out: "Is it late?" she asked. "It is late," said Mary."""
    builder.add_mark(opening, "``", of_speech=True)
    builder.add_speech()
    if mark == ".":
        builder.add_mark(",", ",", of_speech=True)
    builder.add_mark(closing, "''", of_speech=True)
    if not is_inverted:
        builder.add_speaker(speaker)
    builder.add_verb(verb)
    builder.spans.append((builder.verb - 1, builder.verb, "VP"))
    if is_inverted:
        builder.add_speaker(speaker)
    builder.add_mark(".", ".", of_speech=False)


def _said_before(
    builder: _Builder,
    speaker: Sequence[Word],
    verb: tuple[str, str],
    mark: str,
    opening: str,
    closing: str,
) -> None:
    """Lay out: She asked, "Is it late?" """
    builder.add_speaker(speaker)
    builder.add_verb(verb)
    builder.add_mark(",", ",", of_speech=True)
    builder.add_mark(opening, "``", of_speech=True)
    builder.add_speech()
    if mark == ".":  # ends the whole sentence, and the closing quote stands behind it
        builder.spans.append((builder.verb - 1, len(builder.words), "VP"))
        builder.add_mark(".", ".", of_speech=False)
        builder.add_mark(closing, "''", of_speech=True)
    else:  # the mark is within the speech
        builder.add_mark(closing, "''", of_speech=True)
        builder.spans.append((builder.verb - 1, len(builder.words), "VP"))


def with_handles(pair: Pair, draw: random.Random) -> Pair | None:
    """Return the sentence addressed to one or two @names; None where it begins with one."""
    if pair.words[0].startswith("@"):
        return None
    for _ in range(2 if draw.random() < 0.25 else 1):
        pair = _with_word(pair, 0, draw.choice(HANDLE_NAMES), ("NNP", "PROPN", "vocative"), "NP")
    return pair


def with_pictures(pair: Pair, draw: random.Random) -> Pair | None:
    """Return the sentence with one or two emoji or emoticons at the end."""
    for _ in range(2 if draw.random() < 0.25 else 1):
        columns = ("NFP", "SYM", "discourse")
        pair = _with_word(pair, len(pair.words), draw.choice(EMOJI), columns, "")
    return pair


def _with_word(pair: Pair, at: int, form: str, columns: tuple[str, str, str], label: str) -> Pair:
    """Return the sentence with one more word, at its beginning or end.

    The word depends on the root and stands in the outermost constituent.

    columns  tag, universal tag and relation
    label    of a constituent around the word alone; "" for none
    """
    tag, upos, relation = columns
    tree, dependencies = pair
    n = len(pair.words)
    shift = int(at == 0)
    forms = [*pair.words[:at], form, *pair.words[at:]]
    if tree is not None:
        # The wrapper and the constituent below it, if it spans the sentence, take the word in.
        spans = [(i + shift, j + shift, name) for i, j, name in tree.spans]
        for k, (i, j, name) in enumerate(tree.spans[:2]):
            if (i, j) == (0, n):
                spans[k] = (0, n + 1, name)
        if label:
            spans.append((at, at + 1, label))
        tree = ConstituencyTree(forms, [*tree.tags[:at], tag, *tree.tags[at:]], spans)
    if dependencies is not None:
        heads = [head + shift if head else 0 for head in dependencies.heads]
        heads.insert(at, dependencies.root + shift)
        extended = []
        for column, value in (
            (dependencies.relations, relation),
            (dependencies.tags, tag),
            (dependencies.upos, upos),
            (dependencies.lemmas, form),
            (dependencies.features, ""),
        ):
            known = any(column)
            extended.append([*column[:at], value if known else "", *column[at:]])
        relations, tags, upos_tags, lemmas, features = extended
        dependencies = DependencyTree(heads, relations, forms, tags, upos_tags, lemmas, features)
    return Pair(tree, dependencies)


def changed(pairs: Sequence[Pair], form: str, treebank: str) -> Iterator[Pair]:
    """Yield the sentences that fall to a form, in it."""
    for k, pair in enumerate(pairs):
        draw = random.Random(f"{form} {treebank} {k}")
        chance = draw.random()
        if form == "typos" and chance < TYPO_SENTENCES and len(pair.words) > 4:
            new = with_typos(pair, draw)
        elif form == "quoted" and chance < QUOTED.get(pair.words[-1], 0):
            new = quoted(pair, draw)
        elif form == "web" and chance < HANDLES:
            new = with_handles(pair, draw)
        elif form == "web" and chance < HANDLES + PICTURES:
            new = with_pictures(pair, draw)
        else:
            new = None
        if new is not None:
            yield new


@click.command(help=__doc__)
@click.argument("treebanks", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", type=click.Path(path_type=Path))
def main(treebanks: Path, folder: Path) -> None:
    """Write every file."""
    folder.mkdir(parents=True, exist_ok=True)
    free = DocumentFilter({"genre": set(NOT_FREE)})
    gum = read_pairs(treebanks / "gum/train.ptb.xz", treebanks / "gum/train.conllu.xz", keep=free)
    sources = {
        "gum": list(gum),
        "ewt": list(read_pairs(None, treebanks / "ewt/train.conllu.xz")),
        "masc": list(read_pairs(treebanks / "masc/train.ptb.xz")),
    }
    for treebank, pairs in sources.items():
        suffix = "ptb" if treebank == "masc" else "conllu"
        for form in ("typos", "quoted", "web"):
            sentences = list(changed(pairs, form, treebank))
            write_pairs(iter(sentences), folder / f"{treebank}-{form}.{suffix}")
            click.echo(f"{treebank}-{form}: {len(sentences)} sentences", err=True)


if __name__ == "__main__":
    main()
