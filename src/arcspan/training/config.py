"""Everything that a training run depends on, read from TOML; unknown fields are refused.

Paths are relative to the configuration's own folder; `$NAME` in a path is an environment variable,
and `package:NAME/FOLDER` is a folder inside an installed Python package.
"""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from arcspan.errors import ConfigError
from arcspan.neural.model_settings import EncoderSettings, ModelSettings
from arcspan.settings import as_toml, described, read
from arcspan.treebanks.streams import read_lines

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

# The forms of `training.augmentation`, which imports more than a configuration needs.
AUGMENTS = ("final", "initial", "exchange", "bare", "lower", "upper", "headline", "filler")
SEGMENTER = "segmenter"  # the folder of a run that has its segmenter
SPLITS = ("train", "dev", "test")
_RECIPES = Path(__file__).parent / "recipes"
# The recipes of SPMRL differ in the treebank and its language only.
_SPMRL = "paper-spmrl"
_SPMRL_LANGUAGES = {
    "french": "fr",
    "hebrew": "he",
    "korean": "ko",
    "polish": "pl",
    "swedish": "sv",
}


@dataclass(frozen=True)
class Source:
    """A treebank: two files with the same sentences, or one of them where there is one layer only."""

    brackets: str = described(
        "", "bracket file (.ptb, .gz, .xz); without one, constituents are hidden"
    )
    conll: str = described(
        "", "CoNLL-U or CoNLL-X file (.gz, .xz); without one, dependencies are hidden"
    )
    style: str = described("", "name of its conventions, where treebanks of a model differ")
    constituency_style: str = described("", "that of its constituents, where it is another")
    dependency_style: str = described("", "that of its dependencies, where it is another")
    repeat: int = described(1, "train: how often an epoch shows each sentence", least=1)
    weight: float = described(1.0, "train: weight of its losses", above=0)
    every: int = described(1, "take every k-th sentence", least=1)
    first: int = described(0, "leave this many sentences at the beginning out", least=0)
    limit: int = described(0, "take at most this many sentences; 0: all", least=0)
    tags: bool = described(True, "train: learn its part-of-speech tags")
    partial: str = described(
        "none",
        'train: what may be missing, and is hidden: heads ("_" in HEAD), spans, or both',
        choices=("none", "heads", "spans", "both"),
    )
    rewrite: str = described(
        "", "rule file by which trees are rewritten on reading (arcspan treebank rewrite)"
    )
    without: dict[str, Any] = described(
        {}, 'leave documents out by a comment: {genre = ["essay"]}, or a list in a file "@FILE"'
    )
    only: dict[str, Any] = described({}, "keep only these documents")
    augment: dict[str, float] = described(
        {},
        "train: add this share of its sentences once more in another form: final, initial, bare (without the last, "
        "the first or any punctuation), exchange (of the last), lower, upper, headline (no articles, no full stop, "
        "long words with a capital), filler (um, uh, well)",
        least=0,
        most=1,
    )

    @property
    def name(self) -> str:
        """Return its files, for messages."""
        return " + ".join(filter(None, (self.brackets, self.conll)))

    @property
    def styles(self) -> tuple[str, str]:
        """Return the conventions of constituents and of dependencies."""
        return self.constituency_style or self.style, self.dependency_style or self.style

    def or_style(self, constituency: str, dependency: str) -> Source:
        """Return the same with these conventions where it names none."""
        return replace(
            self,
            constituency_style=self.styles[0] or constituency,
            dependency_style=self.styles[1] or dependency,
        )


@dataclass(frozen=True)
class DataSettings:
    """The sentences to train on and to score."""

    root: str = described(
        "",
        "folder that the files are relative to, except paths that begin with a dot; default: the configuration's",
    )
    train: list[Source] = described([], "treebanks to train on")
    dev: list[Source] = described([], "treebanks that choose the model")
    test: list[Source] = described([], "treebanks scored once, at the end")
    lexicon: str = described(
        "",
        "train: word list that the lexicon of lemmas gets beside the treebanks' own: lemma, "
        "universal tag, form and, optionally, tag, with tabs between them (.tsv, .gz, .xz)",
    )
    max_words: int = described(0, "train: leave longer sentences out; 0: none", least=0)
    every: int = described(1, "train: take every k-th sentence", least=1)
    limit: int = described(0, "train: take at most this many sentences; 0: all", least=0)
    least: int = described(
        1,
        "train: labels, relations, tags, features and lemma edits seen less often are not learnt; with 2 "
        "or more, neither are those that only the model to start from has",
        least=1,
    )
    incompatible: str = described(
        "separate",
        "train: drop incompatible sentences, learn each layer separately, or each with the other hidden",
        choices=("drop", "separate", "hidden"),
    )
    missing: str = described(
        "hidden",
        "train: where a treebank has one layer, the other is hidden, or the one is learnt separately",
        choices=("hidden", "separate"),
    )
    binarization: str = described(
        "head",
        "head, left or right, or hidden (all that agree with the gold trees); joint systems need head or hidden",
        choices=("head", "left", "right", "hidden"),
    )
    mismatch: str = described(
        "strict",
        "files that do not fit: strict (an error) or skip (counted)",
        choices=("strict", "skip"),
    )


@dataclass(frozen=True)
class TrainingSettings:
    """The course of the optimization."""

    epochs: int = described(25, "passes over the training data", least=1)
    batch_pieces: int = described(
        1000, "word pieces (or words) in a batch, padding included", least=16
    )
    batch_words: int = described(
        0, "words in a batch, without padding, in place of batch_pieces; 0: off", least=0
    )
    accumulate: int = described(1, "batches in an update", least=1)
    encoder_rate: float = described(
        5e-5, "learning rate of the pretrained encoder", least=0, most=0.01
    )
    rate: float = described(2.5e-3, "learning rate of everything else", above=0, most=0.1)
    style_rate: float = described(
        0.0, "learning rate of the styles' vectors; 0: that of everything else", least=0, most=0.1
    )
    beta1: float = described(0.9, "AdamW", least=0, most=0.99999)
    beta2: float = described(0.9, "AdamW", least=0, most=0.999999)
    epsilon: float = described(1e-12, "AdamW", above=0, most=1)
    weight_decay: float = described(0.0, "AdamW", least=0, most=10)
    clip: float = described(5.0, "largest norm of the gradient", above=0)
    warmup: float = described(
        0.1,
        "share of all updates over which the learning rate rises; then it falls to 0",
        least=0,
        most=1,
    )
    average: float = described(
        0.0,
        "decay of an average of the weights, which is then what is scored and kept; 0: off",
        least=0,
        most=0.99999,
    )
    tag_weight: float = described(1.0, "weight of the tag losses", least=0)
    row_weight: float = described(1.0, "weight of the lemma and feature losses", least=0)
    patience: int = described(
        0, "stop after this many epochs without a better dev score; 0: never", least=0
    )
    checkpoint_minutes: float = described(
        10.0, "time between checkpoints; one is written after every epoch too", least=0
    )
    precision: str = described(
        "auto",
        "auto (bf16 where the accelerator has it), fp32 or bf16",
        choices=("auto", "fp32", "bf16"),
    )
    punctuation: str = described(
        "ptb",
        "dev attachment scores leave out: ptb, ctb, unicode, upos or none",
        choices=("ptb", "ctb", "unicode", "upos", "none"),
    )
    subtypes: bool = described(True, "dev LAS counts relation subtypes (nsubj:pass)")
    tensorboard: bool = described(False, "log for TensorBoard, too, which must be installed")


@dataclass(frozen=True)
class SegmenterSource:
    """A treebank with the text of its sentences: `# text` or SpaceAfter, and paragraphs if any."""

    conll: str = described("", "CoNLL-U file (.gz, .xz)")
    every: int = described(1, "train: take one document of this many", least=1)


@dataclass(frozen=True)
class SegmenterSettings:
    """The training of a segmenter; none is trained where `train` is empty."""

    train: list[SegmenterSource] = described([], "files to train on")
    dev: list[SegmenterSource] = described(
        [], "files that choose how sure a sentence's end must be"
    )
    without: list[str] = described(
        [], "train: genres (# genre =) and documents (# newdoc id =) to leave out"
    )
    channels: int = described(64, "width of the network", least=1)
    epochs: int = described(8, "passes over the training data", least=1)
    batch: int = described(16, "windows of 512 characters in a batch", least=1)
    rare: int = described(
        20, "letters that were seen less often are known by their category only", least=1
    )


@dataclass(frozen=True)
class Config:
    """One training run."""

    output: str = described("", "folder of the run: checkpoints, log, results")
    seed: int = described(1, "seed of everything random", least=0)
    name: str = described(
        "", "name of the resulting model, kept with it; empty: that of the bundle's folder"
    )
    version: str = described("", "version of the resulting model, kept with it")
    language: str = described("", "language code, kept with the model")
    licence: str = described("", "licence of the resulting model, kept with it")
    styles: dict[str, Any] = described(
        {},
        "names for parsing: of a style, or of two, for constituents and dependencies; the first is the default",
    )
    data: DataSettings = field(default_factory=DataSettings)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    segmenter: SegmenterSettings = field(default_factory=SegmenterSettings)

    @property
    def own_parts(self) -> frozenset[str]:
        """Return the parts `package.module:Name` that it names: code that may be imported."""
        model = self.model
        parts = (self.encoder.kind, model.loss, model.decoder, *model.scorers.values())
        return frozenset(name for name in parts if ":" in name)

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts and lists."""
        return asdict(self)


def read_config(
    path: str | os.PathLike[str],
    overrides: list[str] | None = None,
    *,
    segmenter_only: bool = False,
) -> Config:
    """Read a TOML file, or an included recipe by its name, and apply `key=value` overrides.

    Values of overrides are TOML; what is not TOML is taken as a string. The paths of an included
    recipe are relative to the current folder. `segmenter_only` demands nothing that only a parser
    needs.
    """
    path = Path(path)
    folder = path.parent
    try:
        if str(path) in recipes() and not path.exists():
            text, folder = recipe_text(str(path)), Path()
        else:
            text = path.read_text(encoding="utf-8-sig")
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    for override in overrides or []:
        _apply(tables, override)
    config = config_from_dict(tables, where=str(path), segmenter_only=segmenter_only)
    return _resolve(config, folder, segmenter_only)


def recipes() -> dict[str, str]:
    """Return the recipes that come with the package, and the first line of each."""
    names = {path.stem for path in _RECIPES.glob("*.toml")} - {_SPMRL}
    names |= {f"{_SPMRL}-{name}" for name in _SPMRL_LANGUAGES}
    return {name: recipe_text(name).splitlines()[0].lstrip("# ") for name in sorted(names)}


def recipe_text(name: str) -> str:
    """Return a recipe; those of SPMRL are one text with a treebank and its language filled in."""
    prefix, _, treebank = name.rpartition("-")
    if prefix != _SPMRL:
        return (_RECIPES / f"{name}.toml").read_text(encoding="utf-8")
    text = (_RECIPES / f"{_SPMRL}.toml").read_text(encoding="utf-8")
    return text.replace("TREEBANK_NAME", treebank).replace("LANGUAGE", _SPMRL_LANGUAGES[treebank])


def config_from_dict(
    tables: dict[str, Any], where: str = "configuration", *, segmenter_only: bool = False
) -> Config:
    """Return a checked configuration from plain dicts, its paths unchanged."""
    try:
        config = read(Config, tables)
        _check(config)
        if not segmenter_only:
            _check_parser(config)
        elif not config.segmenter.train:
            raise ConfigError("segmenter.train names no treebank")
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return config


def document() -> str:
    """Return every field of a configuration, as a commented TOML file."""
    sections = [entry for entry in fields(Config) if "doc" not in entry.metadata]
    lines = [_field_line(entry) for entry in fields(Config) if entry not in sections]
    for section in sections:
        lines += ["", f"[{section.name}]"]
        lines += map(_field_line, fields(section.default_factory))  # type: ignore[misc,arg-type]
    lines += _table_lines(Source, "data.train, data.dev or data.test")
    lines += _table_lines(SegmenterSource, "segmenter.train or segmenter.dev")
    return "\n".join(lines) + "\n"


def _table_lines(table: Any, users: str) -> list[str]:
    lines = [f"#   {_field_line(entry)}" for entry in fields(table)]
    return ["", f"# a treebank in {users} is a table:", *lines]


def _field_line(entry: Any) -> str:
    default = entry.default if entry.default_factory is MISSING else entry.default_factory()
    return f"{entry.name} = {as_toml(default)}  # {entry.metadata['doc']}"


def _check(config: Config) -> None:
    if not config.output:
        raise ConfigError("output names no folder for the run")
    for name, style in config.styles.items():
        pair = [style, style] if isinstance(style, str) else style
        if not isinstance(pair, list) or list(map(type, pair)) != [str, str]:
            raise ConfigError(
                f"styles.{name} should be the name of a style, or a list of two, "
                f"for constituents and dependencies, not {as_toml(style)}"
            )
    for split in ("train", "dev"):
        for index, source in enumerate(getattr(config.segmenter, split)):
            if not source.conll:
                raise ConfigError(f"segmenter.{split}[{index}] needs conll")


def _check_parser(config: Config) -> None:
    if config.encoder.kind == "pretrained" and not config.encoder.path and not config.model.start:
        raise ConfigError(
            'encoder.path is missing: name a folder or hub model, or set encoder.kind = "lstm"'
        )
    is_joint = config.model.system.startswith("joint")
    if is_joint and config.data.binarization not in ("head", "hidden"):
        raise ConfigError(
            f'{config.model.system} searches l-trees: data.binarization must be "head" or "hidden"'
        )
    for split in SPLITS:
        sources = getattr(config.data, split)
        if not sources and split != "test":
            raise ConfigError(f"data.{split} names no treebank")
        for index, source in enumerate(sources):
            _check_source(source, f"data.{split}[{index}]")


def _check_source(source: Source, where: str) -> None:
    if not source.brackets and not source.conll:
        raise ConfigError(f"{where} needs brackets or conll, or both")
    if unknown := source.augment.keys() - AUGMENTS:
        raise ConfigError(
            f"{where}.augment: no form {min(unknown)!r}; known: {', '.join(AUGMENTS)}"
        )
    if (source.without or source.only) and not source.conll:
        raise ConfigError(f"{where}: the comments of conll identify documents")


def _resolve(config: Config, folder: Path, segmenter_only: bool) -> Config:
    """Make every path absolute, and check that the files exist before anything long begins."""
    root = _path(config.data.root, folder) if config.data.root else folder

    def with_sources(section: Any, name: str, splits: tuple[str, ...]) -> Any:
        resolved: dict[str, Any] = {}
        for split in splits:
            resolved[split] = [
                _resolve_source(source, f"{name}.{split}[{index}]", folder, root)
                for index, source in enumerate(getattr(section, split))
            ]
        return replace(section, **resolved)

    segmenter = with_sources(config.segmenter, "segmenter", ("train", "dev"))
    config = replace(config, segmenter=segmenter, output=str(_path(config.output, folder)))
    if segmenter_only:
        return config
    data = replace(with_sources(config.data, "data", SPLITS), root=str(root))
    if data.lexicon:
        word_list = _path(data.lexicon, folder)
        if not word_list.is_file():
            raise ConfigError(f"data.lexicon: {word_list}: no such file")
        data = replace(data, lexicon=str(word_list))
    encoder = config.encoder
    if encoder.kind != "lstm" and encoder.path:
        encoder = replace(encoder, path=_encoder_path(encoder.path, folder))
    model = config.model
    # Otherwise it is the name of an installed model.
    if model.start and _path(model.start, folder).is_dir():
        model = replace(model, start=str(_path(model.start, folder)))
    return replace(config, data=data, encoder=encoder, model=model)


def _resolve_source(source: Any, where: str, folder: Path, root: Path) -> Any:
    resolved: dict[str, Any] = {}
    for name, value in vars(source).items():
        if name in ("brackets", "conll", "rewrite") and value:
            beside_config = name == "rewrite" or value.startswith(".")
            file = _path(value, folder if beside_config else root)
            if not file.is_file():
                raise ConfigError(f"{file}: no such file (data.root is {root})")
            resolved[name] = str(file)
        elif name in ("without", "only") and value:
            resolved[name] = _comment_values(value, folder, f"{where}.{name}")
    return replace(source, **resolved)


def _comment_values(table: dict[str, Any], folder: Path, where: str) -> dict[str, list[str]]:
    """Return values of comments; "@FILE" is the lines of a file, up to the first tab of each."""
    lists = {}
    for name, values in table.items():
        if isinstance(values, str) and values.startswith("@"):
            path = _path(values[1:], folder)
            if not path.is_file():
                raise ConfigError(f"{where}.{name}: {path}: no such file")
            values = [line.split("\t")[0] for line in read_lines(path)]
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ConfigError(
                f'{where}.{name} = {as_toml(values)}: give a list of values, or "@FILE"'
            )
        lists[name] = values
    return lists


def _path(text: str, folder: Path) -> Path:
    expanded = os.path.expanduser(os.path.expandvars(text))
    unset = re.search(r"\$(\w+|\{[^}]*\})", expanded)
    if unset:
        raise ConfigError(f"{text}: the environment variable {unset.group()} is not set")
    return Path(os.path.normpath(folder.absolute() / expanded))


def _encoder_path(text: str, folder: Path) -> str:
    """Return a folder that exists, a folder in a package, or else a hub name as it is."""
    if text.startswith("package:"):
        name, _, inside = text.removeprefix("package:").partition("/")
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(f"encoder.path = {text!r}: the package {name} is not installed")
        return str(Path(next(iter(spec.submodule_search_locations))) / inside)
    path = _path(text, folder)
    if path.is_dir():
        return str(path)
    # Hub names have one slash at most.
    if text.startswith((".", "/", "~", "$")) or text.count("/") > 1:
        raise ConfigError(f"encoder.path = {text!r}: no such folder ({path})")
    return text


def _apply(tables: dict[str, Any], override: str) -> None:
    name, equals, text = override.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {override}: write key=value, for example training.epochs=3")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    *sections, last = name.strip().split(".")
    table = tables
    for section in sections:
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {override}: {section} is not a table")
    table[last] = value
