from __future__ import annotations

import gzip
import io
import json
import lzma
import sys
from importlib import resources
from pathlib import Path

import pytest

from arcspan.cli import run
from arcspan.treebanks import read_conll, read_conllu, read_pairs
from tests.treebanks.samples import TREES, WORDS, write

Captured = pytest.CaptureFixture[str]

# "dog" attaches past its constituent: (NP the dog) has two words with heads outside.
MISFIT_TREE = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))\n"
MISFIT_WORDS = (
    "# sent_id = misfit\n1\tthe\t_\t_\tDT\t_\t3\tdet\t_\t_\n2\tdog\t_\t_\tNN\t_\t3\tnsubj\t_\t_\n"
    "3\tbarks\t_\t_\tVBZ\t_\t0\troot\t_\t_\n\n"
)


def call(*arguments: object) -> int:
    return run(["treebank", *map(str, arguments)])


def test_stats_prints_a_line_a_pair_then_causes_and_inventories(
    tmp_path: Path, capsys: Captured
) -> None:
    files = write(tmp_path, TREES + MISFIT_TREE, WORDS + MISFIT_WORDS)
    assert call("stats", *files) == 0
    lines = capsys.readouterr().out.splitlines()
    columns = (
        "treebank sentences words mean longest projective % compatible % labels relations tags"
    )
    assert " ".join(lines[0].split()) == columns
    assert lines[1].split()[1:7] == ["4", "13", "3.2", "6", "100.0", "75.0"]
    assert "  incompatible: 1 of 4 sentences" in lines
    assert "          1  several words of a constituent have their heads outside it" in lines
    assert "             in NP 1" in lines
    assert any(line.startswith("  labels (5): NP:4 S:3 VP:3 ") for line in lines)


def test_stats_as_json_holds_the_same(tmp_path: Path, capsys: Captured) -> None:
    files = write(tmp_path, TREES + MISFIT_TREE, WORDS + MISFIT_WORDS)
    assert call("stats", "--json", *files) == 0
    (found,) = json.loads(capsys.readouterr().out).values()
    assert (found["sentences"], found["compatible"], found["compatible_percent"]) == (4, 3, 75.0)
    assert found["causes"] == {"heads": 1}
    assert found["places"] == [{"cause": "heads", "label": "NP", "sentences": 1}]
    assert found["labels"] == {"NP": 4, "S": 3, "VP": 3, "ADVP": 1, "FRAG": 1}


def test_stats_as_json_says_nothing_of_a_layer_that_is_not_there(
    tmp_path: Path, capsys: Captured
) -> None:
    """A file of dependencies had 0 compatible sentences, and one of constituents 0 projective ones."""
    brackets, conll = write(tmp_path)
    found = []
    for file in (conll, brackets):
        assert call("stats", "--json", file) == 0
        found += json.loads(capsys.readouterr().out).values()
    rows, trees = found
    assert (rows["projective"], rows["compatible"], rows["compatible_percent"]) == (3, None, None)
    assert (trees["projective"], trees["projective_percent"], trees["compatible"]) == (
        None,
        None,
        None,
    )


def test_standard_input_may_hold_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """`xzcat a.conllu.xz | arcspan treebank stats -` was read as brackets, and later `cat a.conllu.xz |` still was."""
    packed = gzip.compress(WORDS.encode()), lzma.compress(WORDS.encode())
    columns = dict.fromkeys((WORDS.encode(), *packed), "relations (")
    for content, counted in {**columns, TREES.encode(): "labels ("}.items():
        raw = io.BufferedReader(io.BytesIO(content))  # type: ignore[arg-type]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
        assert call("stats", "-") == 0
        assert counted in capsys.readouterr().out


def test_files_in_the_wrong_order_are_named(tmp_path: Path, capsys: Captured) -> None:
    """Every line of the CoNLL file was printed as text outside of any bracket."""
    brackets, conll = write(tmp_path)
    assert call("check", conll, brackets) == 2
    assert f"The bracket file comes first: {conll} has columns." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["filter", "a.ptb", "a.conllu"], "a.conllu: the name says columns"),
        (["filter", "a.conllu", "a.ptb"], "a.ptb: the name says brackets"),
        (
            ["filter", "a.ptb", "a.conllu", "b.conllu.gz", "b.ptb"],
            "b.conllu.gz: the name says columns",
        ),
        (["rewrite", "rules.toml", "a.ptb", "a.conllu"], "a.conllu: the name says columns"),
        (["complete", "a.conllu", "b.conllu", "b.mrg"], "b.conllu: the name says columns"),
        (["convert", "a.ptb", "b.ptb.xz", "--rules", "ptb"], "b.ptb.xz: the name says brackets"),
    ],
)
def test_an_output_with_the_name_of_the_other_kind_is_not_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    capsys: Captured,
) -> None:
    """`filter a.ptb a.conllu`, a pair without outputs, wrote brackets over the CoNLL file."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    (tmp_path / "rules.toml").write_text("")
    assert call(*arguments) == 2
    output = capsys.readouterr().err
    assert message in output and output.startswith(f"Usage: arcspan treebank {arguments[0]}")
    assert ((tmp_path / "a.ptb").read_text(), (tmp_path / "a.conllu").read_text()) == (TREES, WORDS)
    assert not list(tmp_path.glob("b.*"))


def test_two_outputs_are_two_files(tmp_path: Path, capsys: Captured) -> None:
    """The trees were lost, and the command said that they were written."""
    out = tmp_path / "out.txt"
    assert call("filter", *write(tmp_path), out, out) == 2
    assert f"{out}: is named for two outputs" in capsys.readouterr().err
    assert not out.exists()
    assert call("filter", *write(tmp_path), "/dev/null", "/dev/null") == 0


def test_stats_takes_folders_and_several_pairs(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "bank"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"{split}.ptb.xz").write_bytes(lzma.compress(TREES.encode()))
        (folder / f"{split}.conllu.xz").write_bytes(lzma.compress(WORDS.encode()))
    assert call("stats", folder, *write(tmp_path)) == 0
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:4]]
    assert rows == ["bank/train", "bank/dev", f"{tmp_path.name}/a"]


def test_stats_takes_a_single_file_of_either_kind(tmp_path: Path, capsys: Captured) -> None:
    brackets, conll = write(tmp_path)
    assert call("stats", conll, brackets) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[1:] == ["3", "10", "3.3", "6", "100.0", "-", "0", "7", "9"]
    assert lines[2].split()[1:] == ["3", "10", "3.3", "6", "-", "-", "5", "0", "9"]
    assert not any("incompatible" in line for line in lines)


def test_stats_names_a_folder_without_treebanks(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "empty").mkdir()
    assert call("stats", tmp_path / "empty") == 2
    assert "no train, dev or test" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "percent"),
    [
        ("craft", "100.0"),
        ("craft-ud", "98.6"),
        ("gum", "71.8"),
        ("gum-ud", "96.8"),
        ("sequoia", "94.4"),
        ("sinica", "100.0"),
        ("icepahc", "96.7"),
    ],
)
def test_stats_of_the_shared_treebanks(
    treebanks: Path, name: str, percent: str, capsys: Captured
) -> None:
    folder = treebanks / name
    assert call("stats", folder / "train.ptb.xz", folder / "train.conllu.xz") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[6] == percent


def test_check_is_silent_about_a_good_pair(tmp_path: Path, capsys: Captured) -> None:
    assert call("check", *write(tmp_path)) == 0
    assert capsys.readouterr() == ("", "")


def test_check_prints_every_problem_with_its_place(tmp_path: Path, capsys: Captured) -> None:
    words = (
        (WORDS + MISFIT_WORDS).replace("\tNNP\t", "\tNN\t").replace("# text = Go", "# text = Gone")
    )
    words = words.replace("sent_id = misfit", "sent_id = two").replace("\tadvmod\t", "\t_\t")
    brackets, conll = write(tmp_path, TREES + MISFIT_TREE, words)
    assert call("check", brackets, conll) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{conll}:3: word 1, 'Logic', has tag NN here and NNP at {brackets}:1",
        f"{conll}:8: word 6, 'here', has no relation to its head",
        f"{conll}:16: the text is 'Gone', the words make 'Go'",
        f"{brackets}:4: constituent NP (0, 2) has more than one word with its head outside: "
        "'the' (1), 'dog' (2)",
        f"{conll}:20: sent_id two is also that of the sentence at line 10",
    ]
    assert (
        call("check", brackets, conll, *(f"--ignore={kind}" for kind in ("tags", "text", "ids")))
        == 2
    )
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert call("check", brackets, conll, "--ignore", "nonsense") == 2


def test_check_goes_on_after_files_fall_apart(tmp_path: Path, capsys: Captured) -> None:
    trees = TREES.replace("(NN sic))", "(NN sick))").replace("(VB Go))))", "(VB Go)))")
    brackets, conll = write(tmp_path, trees, WORDS + MISFIT_WORDS)
    assert call("check", brackets, conll) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{brackets}:2: word 2 is 'sick' here and 'sic' at {conll}:13",
        f"{brackets}:3: the tree that starts here is not closed: a closing bracket is missing",
        f"{conll}:20: a sentence with no tree: {brackets} ends after 3 trees",
    ]


def test_check_takes_a_single_file(tmp_path: Path, capsys: Captured) -> None:
    brackets, conll = write(
        tmp_path, TREES.replace("(NP (NN sic", "(TOP (NN sic"), WORDS.replace("\tadvmod\t", "\t_\t")
    )
    assert call("check", brackets) == 2
    assert capsys.readouterr().out == f"{brackets}:2: a wrapper (TOP) inside the tree\n"
    assert call("check", conll) == 2
    assert capsys.readouterr().out == f"{conll}:8: word 6, 'here', has no relation to its head\n"


def test_check_lists_what_it_looks_for(capsys: Captured) -> None:
    assert call("check", "--help") == 0
    assert "incompatible" in capsys.readouterr().out


CYCLE = MISFIT_WORDS.replace("VBZ\t_\t0", "VBZ\t_\t2").replace("NN\t_\t3", "NN\t_\t1")


@pytest.mark.parametrize("verb", ["stats", "check", "filter"])
@pytest.mark.parametrize(
    ("brackets", "conll", "message"),
    [
        (
            TREES.replace("(NN role))", "(NN role)"),
            WORDS,
            "a.ptb:1: the tree that starts here is not closed",
        ),
        (TREES.replace("(VB Go))))", "(VB Go)))))"), WORDS, "a.ptb:3: a closing bracket too many"),
        (MISFIT_TREE, CYCLE, "a.conllu:2: the heads form a cycle"),
        (TREES, WORDS.replace("\tNumber=Sing", ""), "a.conllu:3: 9 columns where CoNLL has 10"),
        (TREES + MISFIT_TREE, WORDS, "a.ptb:4: a tree with no sentence"),
        (TREES, WORDS + MISFIT_WORDS, "a.conllu:20: a sentence with no tree"),
        ("", WORDS, "a.ptb: no tree in this file"),
        (TREES, "", "a.conllu: no sentence in this file"),
        (b"\x7fELF\x02\x01\x00\x00", WORDS, "a.ptb:1: a zero byte: this is a binary file"),
        (TREES, b"\x89PNG\r\n", "a.conllu:1: byte 0x89"),
        (None, WORDS, "a.ptb: Is a directory"),
        (TREES, None, "a.conllu: Is a directory"),
    ],
)
def test_a_bad_file_is_one_clear_message_and_exit_code_2(
    tmp_path: Path,
    verb: str,
    brackets: str | bytes | None,
    conll: str | bytes | None,
    message: str,
    capsys: Captured,
) -> None:
    for name, content in (("a.ptb", brackets), ("a.conllu", conll)):
        path = tmp_path / name
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    outputs = ["b.ptb", "b.conllu"] if verb == "filter" else []
    files = ["a.ptb", "a.conllu", *outputs]
    # A folder is a folder of treebanks to `stats`, which this one is not.
    if verb == "stats" and None in (brackets, conll):
        message = message.replace("Is a directory", "no train, dev or test")
    assert call(verb, *(tmp_path / name for name in files)) == 2
    captured = capsys.readouterr()
    output = captured.out if verb == "check" and captured.out else captured.err
    assert f"{tmp_path}/{message}" in output
    assert "Traceback" not in captured.err
    assert not any((tmp_path / name).exists() for name in outputs)


def test_filter_writes_the_compatible_sentences_as_they_were(
    tmp_path: Path, capsys: Captured
) -> None:
    files = write(tmp_path, MISFIT_TREE + TREES, MISFIT_WORDS + WORDS)
    target = tmp_path / "b.ptb", tmp_path / "b.conllu"
    assert call("filter", *files, *target) == 0
    said = capsys.readouterr().err
    assert "3 of 4 sentences written" in said and "1  left out: incompatible" in said
    assert (target[0].read_text(), target[1].read_text()) == (TREES, WORDS)
    assert call("filter", *files, *target, "--max-length", 3, "--min-length", 2) == 0
    assert [sentence.sent_id for sentence in read_conllu(target[1])] == ["two"]


def test_filter_takes_a_single_file(tmp_path: Path, capsys: Captured) -> None:
    brackets, conll = write(tmp_path, MISFIT_TREE + TREES, MISFIT_WORDS + WORDS)
    assert call("filter", brackets, tmp_path / "b.ptb", "--max-length", 3) == 0
    assert (tmp_path / "b.ptb").read_text() == MISFIT_TREE + "".join(
        TREES.splitlines(keepends=True)[1:]
    )
    assert call("filter", conll, tmp_path / "b.conllu", "--min-length", 3, "--max-length", 3) == 0
    assert [sentence.sent_id for sentence in read_conllu(tmp_path / "b.conllu")] == [
        "misfit",
        "two",
    ]
    assert call("filter", brackets, conll, tmp_path / "b.ptb") == 2
    assert "Two files are needed" in capsys.readouterr().err


def test_filter_leaves_out_documents_by_their_comments_in_both_files(
    tmp_path: Path, capsys: Captured
) -> None:
    words = WORDS.replace("# sent_id = one", "# newdoc id = a\n# genre = essay\n# sent_id = one")
    words = words.replace("# sent_id = three", "# newdoc id = b\n# genre = news\n# sent_id = three")
    files = write(tmp_path, TREES, words)
    target = tmp_path / "b.ptb", tmp_path / "b.conllu"
    assert call("filter", *files, *target, "--without", "genre=essay,esay") == 0
    output = capsys.readouterr().err
    assert "2  left out: other documents" in output and "no document has genre = esay" in output
    assert target[0].read_text() == TREES.splitlines(keepends=True)[2]
    assert [sentence.sent_id for sentence in read_conllu(target[1])] == ["three"]
    (tmp_path / "ids.tsv").write_text("a\tsome licence\n")
    assert call("filter", *files, *target, "--only", f"newdoc id=@{tmp_path / 'ids.tsv'}") == 0
    assert [pair.words[0] for pair in read_pairs(*target)] == ["Logic", "("]
    assert call("filter", files[0], target[0], "--without", "genre=essay") == 2
    assert call("filter", *files, *target, "--without", "genre") == 2


def test_filter_skips_on_request_without_losing_step(tmp_path: Path, capsys: Captured) -> None:
    files = write(tmp_path, TREES.replace("maximal", "minimal"))
    target = tmp_path / "b.ptb", tmp_path / "b.conllu.gz"
    assert call("filter", *files, *target) == 2
    assert not target[0].exists()
    capsys.readouterr()
    assert call("filter", *files, *target, "--mismatch", "skip") == 0
    assert "1 sentences skipped:" in capsys.readouterr().err
    assert [pair.dependencies.words[0] for pair in read_pairs(*target)] == ["(", "Go"]


def test_filter_reads_standard_input_and_writes_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    _, conll = write(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lzma.compress(TREES.encode()))))
    assert call("filter", "-", conll, "-", tmp_path / "b.conllu") == 0
    assert capsys.readouterr().out == TREES
    assert (tmp_path / "b.conllu").read_text() == WORDS


def test_convert_makes_dependencies_by_a_head_table(tmp_path: Path, capsys: Captured) -> None:
    brackets, conll = write(tmp_path)
    assert call("convert", brackets, "--rules", "ptb") == 0
    out = tmp_path / "out.conllu"
    out.write_text(capsys.readouterr().out)
    converted = list(read_conll(out))
    assert [tree.heads for tree in converted] == [tree.heads for tree in read_conll(conll)]


def test_convert_looks_at_function_tags(tmp_path: Path, capsys: Captured) -> None:
    tree = "(S (NP-TMP (NN Today)) (NP-SBJ (-NONE- *)) (NP-SBJ (PRP he)) (VP (VBZ sleeps)))\n"
    assert call("convert", write(tmp_path, tree)[0], tmp_path / "out.conllu", "--rules", "ptb") == 0
    assert next(read_conll(tmp_path / "out.conllu")).relations == ("VMOD", "SUB", "ROOT")


def test_convert_names_rules_that_are_none(tmp_path: Path, capsys: Captured) -> None:
    brackets, _ = write(tmp_path)
    assert call("convert", brackets, "--rules", tmp_path / "no-such-rules") == 2
    assert "no-such-rules" in capsys.readouterr().err
    assert call("convert", brackets, "--rules", brackets) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_rewrite_changes_both_files_and_copies_the_rest(tmp_path: Path, capsys: Captured) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        "[[tags]]\ntag = 'NNP'\nto = 'NN'\n[[constituents]]\nlabel = 'ADVP'\nremove = true\n"
    )
    files, target = write(tmp_path), (tmp_path / "b.ptb", tmp_path / "b.conllu")
    assert call("rewrite", rules, *files, *target) == 0
    assert target[0].read_text() == TREES.replace("(NNP", "(NN").replace(
        "(ADVP (RB here))", "(RB here)"
    )
    assert target[1].read_text() == WORDS.replace("\tNNP\t", "\tNN\t")
    assert "1  ADVP -> (removed)" in capsys.readouterr().err
    assert call("rewrite", rules, files[1], target[1]) == 0
    assert target[1].read_text() == WORDS.replace("\tNNP\t", "\tNN\t")
    assert call("rewrite", rules, files[0], files[0]) == 2


def test_what_is_read_beside_trees_is_not_written_over(tmp_path: Path, capsys: Captured) -> None:
    """Rules, head tables and lists of documents were lost when they were named as the output."""
    path = tmp_path / "other.txt"
    path.write_text("[[tags]]\ntag = 'NNP'\nto = 'NN'\n")
    brackets, conll = write(tmp_path)
    table = resources.files("arcspan.trees") / "head_table_ptb.txt"
    for text, arguments in (
        ("[[tags]]\ntag = 'NNP'\nto = 'NN'\n", ("rewrite", path, brackets, path)),
        ("a\n", ("filter", "--only", f"newdoc id=@{path}", conll, path)),
        (table.read_text(encoding="utf-8"), ("convert", "--rules", path, brackets, path)),
    ):
        path.write_text(text, encoding="utf-8")
        assert call(*arguments) == 2
        assert f"{path}: is also the input, which would be lost" in capsys.readouterr().err
        assert path.read_text(encoding="utf-8") == text
