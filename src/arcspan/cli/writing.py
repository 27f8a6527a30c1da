"""What `arcspan parse` writes: texts of every format, pictures, pages."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcspan.cli.progress import complain, note, progress
from arcspan.cli.reading import as_they_come
from arcspan.errors import ArcspanError

if TYPE_CHECKING:
    from arcspan.cli.reading import Item
    from arcspan.cli.resuming import Resumable
    from arcspan.parser import Parse, Parser

PICTURES = ("svg", "tikz", "png", "pdf")  # one file per sentence
READ_AHEAD = 256  # items
# Comments that an earlier parse has made.
_OF_A_PARSE = re.compile(r"#\s*(rank|score|approximate|error|constituency)\s*=")


class Writing:
    """One call of the command: items in, files out."""

    def __init__(
        self,
        parser: Parser,
        form: str,
        *,
        slow: bool = False,
        k: int | None = None,
        style: str | None = None,
        confidence: bool = False,
        layout: str = "auto",
        require: Iterable[Any] = (),
        forbid: Iterable[Any] = (),
        constituency: bool = False,
        offsets: bool = False,
    ) -> None:
        self.parser, self.form, self.slow, self.k, self.confidence = parser, form, slow, k, confidence
        self.layout: Any = layout
        self.asked: dict[str, Any] = {"k": k, "style": style}
        self.require, self.forbid = list(require), list(forbid)
        self.columns = {"constituency": constituency, "offsets": offsets}
        self.colour = False
        self.sentences = self.failures = self.approximate = 0

    def write(self, items: Iterator[Item], output: str) -> None:
        """Parse everything into a file, whole or not at all; "-" is standard output."""
        if self.form == "html":
            self._write_page(items, output)
        elif self.form in PICTURES:
            self._write_pictures(items, output)
        else:
            from arcspan.treebanks.streams import open_output

            with open_output(output) as file:
                for text, _ in self._texts(items, bar=output != "-"):
                    file.write(text)
                    if output == "-":
                        file.flush()

    def write_resumable(self, items: Iterator[Item], out: Resumable) -> None:
        """Parse into a file what no earlier run has."""
        self.sentences = out.sentences
        try:
            with out:
                if out.sentences and not out.complete:
                    note(f"continuing after {out.sentences} sentences")
                for text, count in self._texts(out.remaining(items), bar=True):
                    out.write(text, count)
        except BaseException:
            if not out.complete:
                note(f"{out.sentences} sentences are kept in {out.part}: --resume continues from there")
            raise
        if out.complete:
            note(f"{out.path} is complete: nothing left to do")

    def _write_page(self, items: Iterator[Item], output: str) -> None:
        from arcspan.rendering import to_html

        parses = [parse for _, found in self._parses(items, bar=output != "-") for parse in found]
        page = to_html(
            [parse.trees for parse in parses],
            texts=[parse.text for parse in parses],
            notes=[self._title(parse) for parse in parses],
            confidence=[parse.confidence if self.confidence else None for parse in parses],
            layout=self.layout,
        )
        _put(page, output)

    def _write_pictures(self, items: Iterator[Item], output: str) -> None:
        """One picture per file: OUT for a single sentence, OUT-1, OUT-2 ... for several, OUT-1-2 with -k."""
        found = (one for _, parses in self._parses(items, bar=output != "-") for one in _by_sentence(parses))
        numbered = ((number, parse) for number, parses in enumerate(found, 1) for parse in parses)
        ahead = list(itertools.islice(numbered, 2))
        if output == "-" and len(ahead) > 1 and self.form in ("png", "pdf"):
            raise ArcspanError(
                f"several pictures do not fit into one {self.form}: name a file with -o, or use html"
            )
        names = []
        for number, parse in itertools.chain(ahead, numbered):
            name = output
            if output != "-" and len(ahead) > 1:
                name = _numbered(output, f"{number}" if parse.rank is None else f"{number}-{parse.rank}")
            _put(self._picture(parse), name)
            names.append(name)
        if output != "-" and len(ahead) > 1:
            note(
                f"{len(names)} pictures, one per {'parse' if self.k else 'sentence'}: {names[0]} to {names[-1]}"
            )

    def _picture(self, parse: Parse) -> str | bytes:
        from arcspan import rendering

        if self.form == "tikz":
            return rendering.to_tikz(*parse.trees)
        sure = parse.confidence if self.confidence else None
        picture = rendering.to_svg(*parse.trees, layout=self.layout, confidence=sure)
        if self.form == "png":
            return rendering.to_png(picture)
        return rendering.to_pdf(picture) if self.form == "pdf" else picture

    def _texts(self, items: Iterator[Item], bar: bool = False) -> Iterator[tuple[str, int]]:
        """What is to be written for each item, and how many sentences that is."""
        write = {"brackets": self._brackets, "conllu": self._conllu, "json": self._json}.get(
            self.form, self._drawn
        )
        mark = "\n" if self.k and self.form == "brackets" else ""  # after the trees of a sentence
        for item, parses in self._parses(items, bar):
            found = list(_by_sentence(parses))
            texts = []
            for number, own in enumerate(found, self.sentences - len(found) + 1):
                written = [write(item, parse) for parse in own]
                if self.form == "conllu":
                    head = "" if item.lines else "# newdoc\n" * (number == 1) + f"# sent_id = {number}\n"
                    written = [_ranked(head + text, rank) for rank, text in enumerate(written, 1)]
                texts += [*written, mark]
            yield "".join(texts), len(found)

    def _parses(self, items: Iterator[Item], bar: bool = False) -> Iterator[tuple[Item, list[Parse]]]:
        shown: Any = progress(unit="sentence") if bar else contextlib.nullcontext()
        with shown as display:
            # Another thread waits for the parser, so that this one can be interrupted at any moment.
            for item, parses in itertools.chain.from_iterable(as_they_come(self._stream(items), READ_AHEAD)):
                for best, *_ in _by_sentence(parses):
                    self.sentences += 1
                    self.approximate += best.approximate
                    if best.error is not None:
                        self.failures += 1
                        complain(f"sentence {self.sentences}: {best.error}")
                    if bar:
                        display.update()
                yield item, parses

    def _stream(self, items: Iterator[Item]) -> Iterator[tuple[Item, list[Parse]]]:
        if self.require or self.forbid:
            yield self._constrained(list(items))
            return
        if self.slow:  # parse what is there
            for arrived in as_they_come(items, READ_AHEAD):
                found = self.parser.stream([item.content for item in arrived], READ_AHEAD, **self.asked)
                yield from zip(arrived, found, strict=True)
            return
        under_way: list[Item] = []

        def contents() -> Iterator[Any]:
            for item in items:
                under_way.append(item)
                yield item.content

        for parses in self.parser.stream(contents(), READ_AHEAD, **self.asked):
            yield under_way.pop(0), parses

    def _constrained(self, items: list[Item]) -> tuple[Item, list[Parse]]:
        if len(items) != 1:
            raise ArcspanError(f"--require and --forbid are about one sentence, but here are {len(items)}")
        (item,) = items
        (parses,) = self.parser.stream([item.content], require=self.require, forbid=self.forbid, **self.asked)
        if parses[0].error is not None:
            raise ArcspanError(parses[0].error)
        return item, parses

    def _title(self, parse: Parse) -> str:
        """The rank and the probability of a parse, where they were asked for."""
        rank = "" if parse.rank is None else f"{parse.rank}. score {parse.score:.4f}"
        if not self.confidence:
            return rank
        sure = parse.confidence
        return f"{rank} probability {'unknown' if sure is None else f'{sure.sentence:.1%}'}".strip()

    def _drawn(self, item: Item, parse: Parse) -> str:
        title = self._title(parse)
        return (title and f"{title}\n") + parse.draw(colour=self.colour, layout=self.layout) + "\n\n"

    def _brackets(self, item: Item, parse: Parse) -> str:
        return parse.brackets() + "\n"

    def _conllu(self, item: Item, parse: Parse) -> str:
        text = parse.conllu(**self.columns)
        return _with_given_lines(item.lines, text) if item.lines else text

    def _json(self, item: Item, parse: Parse) -> str:
        found = parse.to_dict()
        if self.confidence:
            sure = parse.confidence
            found["confidence"] = None if sure is None else sure.to_dict()
        return json.dumps(found, ensure_ascii=False) + "\n"


def write_items(parser: Parser, items: Iterator[Item], form: str, output: str) -> tuple[int, int]:
    """Parse items into a file, whole or not at all; returns how many sentences, and how many of them failed."""
    writing = Writing(parser, form)
    writing.write(items, output)
    return writing.sentences, writing.failures


def _by_sentence(parses: Iterable[Parse]) -> Iterator[list[Parse]]:
    """The parses of each sentence: one, or its k best."""
    found: list[Parse] = []
    for parse in parses:
        if found and parse.rank in (None, 1):
            yield found
            found = []
        found.append(parse)
    if found:
        yield found


def _ranked(text: str, rank: int) -> str:
    r"""A parse in CoNLL-U by its rank: after the best, none begins a document or paragraph, and ids are their own.

    >>> _ranked("# newdoc id = a\n# sent_id = a-1\n# newpar\n", 2)
    '# sent_id = a-1-2\n'
    """
    if rank == 1:
        return text
    text = re.sub(r"^#\s*(newdoc|newpar)\b.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^#\s*sent_id\s*=.*\S", rf"\g<0>-{rank}", text, flags=re.MULTILINE)


def _with_given_lines(given: tuple[str, ...], text: str) -> str:
    """A parse in CoNLL-U with the comments, multiword tokens and SpaceAfter of the sentence that was read."""
    from arcspan.treebanks import ConlluSentence

    sentence = ConlluSentence(given)
    own = text.rstrip("\n").split("\n")
    found = [line for line in sentence.comments if not _OF_A_PARSE.match(line)]
    if sentence.comment("text") is None:
        found.append(f"# text = {sentence.spell()}")
    found += [line for line in own if line.startswith("#") and not line.startswith("# text =")]
    rows = iter(line for line in own if not line.startswith("#"))
    for token, line in zip(
        sentence.tokens, (line for line in given if not line.startswith("#")), strict=True
    ):
        if "-" in token.id:
            found.append(line)
        elif token.is_word:
            name, _, *row, misc = next(rows).split("\t")
            found.append("\t".join([name, token.form, *row, misc if token.space_after else "SpaceAfter=No"]))
    return "\n".join(found) + "\n\n"


def _put(content: str | bytes, output: str) -> None:
    if isinstance(content, bytes):
        from arcspan.files import atomic_write

        if output == "-":
            sys.stdout.buffer.write(content)
        else:
            with atomic_write(output, "wb") as file:
                file.write(content)
        return
    from arcspan.treebanks.streams import open_output

    with open_output(output) as text:
        text.write(content + "\n" * (output == "-"))


def _numbered(output: str, number: str) -> str:
    """The name of one picture of several.

    >>> _numbered("a/b.svg", "2"), _numbered("b.svg.gz", "1-3")
    ('a/b-2.svg', 'b-1-3.svg.gz')
    """
    path = Path(output)
    suffixes = "".join(path.suffixes[-2:]) if path.suffix in (".gz", ".xz") else path.suffix
    return str(path.with_name(f"{path.name.removesuffix(suffixes)}-{number}{suffixes}"))
