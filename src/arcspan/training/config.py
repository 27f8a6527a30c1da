"""Everything that a training run depends on, read from TOML; unknown fields are refused.

Paths are relative to the configuration's own folder; `$NAME` in a path is an environment variable, and
`package:NAME/FOLDER` is a folder inside an installed Python package.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from arcspan.errors import ConfigError
from arcspan.neural.settings import SYSTEMS, EncoderSettings, ModelSettings, described

_RECIPES = Path(__file__).parent / "recipes"


@dataclass(frozen=True)
class Source:
    """A paired treebank: two files with the same sentences."""

    brackets: str = described("", "bracket file (.ptb, .gz, .xz)")
    conll: str = described("", "CoNLL-U or CoNLL-X file (.gz, .xz)")
    repeat: int = described(1, "train: how often an epoch shows each sentence")


@dataclass(frozen=True)
class DataSettings:
    """Which sentences."""

    root: str = described("", "folder that the files are relative to; default: the configuration's folder")
    train: list[Source] = described([], "treebanks to train on")
    dev: list[Source] = described([], "treebanks that choose the model")
    test: list[Source] = described([], "treebanks scored once, at the end")
    max_words: int = described(0, "train: leave longer sentences out; 0: none")
    every: int = described(1, "train: take every k-th sentence")
    limit: int = described(0, "train: take at most this many sentences; 0: all")
    incompatible: str = described(
        "drop", "train: drop incompatible sentences, or train on them with separate losses"
    )
    binarization: str = described("head", "head, left or right; joint systems need head")
    mismatch: str = described("strict", "files that do not fit: strict (an error) or skip (counted)")


@dataclass(frozen=True)
class TrainingSettings:
    """How long, how fast."""

    epochs: int = described(25, "passes over the training data")
    batch_pieces: int = described(1000, "word pieces (or words) in a batch, padding included")
    accumulate: int = described(1, "batches in an update")
    encoder_rate: float = described(5e-5, "learning rate of the pretrained encoder")
    rate: float = described(2.5e-3, "learning rate of everything else")
    beta1: float = described(0.9, "AdamW")
    beta2: float = described(0.9, "AdamW")
    epsilon: float = described(1e-12, "AdamW")
    weight_decay: float = described(0.0, "AdamW")
    clip: float = described(5.0, "largest norm of the gradient")
    warmup: float = described(
        0.1, "share of all updates over which the learning rate rises; then it falls to 0"
    )
    average: float = described(
        0.0, "decay of an average of the weights, which is then what is scored and kept; 0: off"
    )
    label_weight: float = described(1.0, "weight of the label and relation losses")
    tag_weight: float = described(1.0, "weight of the tag loss")
    patience: int = described(0, "stop after this many epochs without a better dev score; 0: never")
    checkpoint_minutes: float = described(
        10.0, "time between checkpoints; one is written after every epoch too"
    )
    precision: str = described("auto", "auto (bf16 where the accelerator has it), fp32 or bf16")
    punctuation: str = described("ptb", "dev attachment scores leave out: ptb, unicode, upos or none")
    subtypes: bool = described(True, "dev LAS counts relation subtypes (nsubj:pass)")


@dataclass(frozen=True)
class Config:
    """One training run."""

    output: str = described("", "folder of the run: checkpoints, log, results")
    seed: int = described(1, "seed of everything random")
    language: str = described("", "language code, kept with the model")
    licence: str = described("", "licence of the resulting model, kept with it")
    data: DataSettings = dataclasses.field(default_factory=DataSettings)
    encoder: EncoderSettings = dataclasses.field(default_factory=EncoderSettings)
    model: ModelSettings = dataclasses.field(default_factory=ModelSettings)
    training: TrainingSettings = dataclasses.field(default_factory=TrainingSettings)

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists."""
        return dataclasses.asdict(self)


def read_config(path: str | os.PathLike[str], overrides: list[str] | None = None) -> Config:
    """A checked configuration from a TOML file, or the name of an included recipe, and `key=value` overrides.

    Values of overrides are TOML; what is not TOML is taken as a string. The paths of an included recipe are
    relative to the current folder.
    """
    toml = _toml()
    path = Path(path)
    folder = path.parent
    if str(path) in recipes() and not path.exists():
        path, folder = _RECIPES / f"{path}.toml", Path()
    try:
        with open(path, "rb") as file:
            data = toml.load(file)
    except (toml.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    for override in overrides or []:
        _apply(data, override, toml)
    config = config_from_dict(data, where=str(path))
    return _resolve(config, folder)


def recipes() -> dict[str, str]:
    """The recipes that come with the package, and the first line of each."""
    out = {}
    for path in sorted(_RECIPES.glob("*.toml")):
        out[path.stem] = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
    return out


def config_from_dict(data: dict[str, Any], where: str = "configuration") -> Config:
    """A checked configuration from plain dicts, its paths left as they are."""
    config = _build(Config, data, where, "")
    _check(config, where)
    return config


def document() -> str:
    """Every field of a configuration, as a commented TOML file."""
    lines: list[str] = []
    for entry in dataclasses.fields(Config):
        if "doc" in entry.metadata:
            lines.append(f"{entry.name} = {_as_toml(entry.default)}  # {entry.metadata['doc']}")
    for section, kind in (
        ("data", DataSettings),
        ("encoder", EncoderSettings),
        ("model", ModelSettings),
        ("training", TrainingSettings),
    ):
        lines += ["", f"[{section}]"]
        for entry in dataclasses.fields(kind):
            default = [] if entry.default is dataclasses.MISSING else entry.default
            lines.append(f"{entry.name} = {_as_toml(default)}  # {entry.metadata['doc']}")
    lines += ["", "# a treebank in data.train, data.dev or data.test is a table:"]
    for entry in dataclasses.fields(Source):
        lines.append(f"#   {entry.name} = {_as_toml(entry.default)}  # {entry.metadata['doc']}")
    return "\n".join(lines) + "\n"


def _build(kind: type, data: Any, where: str, prefix: str) -> Any:
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: {prefix or 'the whole'} should be a table, not {data!r}")
    known = {entry.name: entry for entry in dataclasses.fields(kind)}
    types = get_type_hints(kind)
    for name in data:
        if name not in known:
            near = _nearest(name, known)
            hint = f"; did you mean {prefix}{near}?" if near else f"; known: {', '.join(known)}"
            raise ConfigError(f"{where}: unknown field {prefix}{name}{hint}")
    return kind(**{name: _value(types[name], value, where, prefix + name) for name, value in data.items()})


def _value(kind: Any, value: Any, where: str, name: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _build(kind, value, where, name + ".")  # type: ignore[arg-type]
    if kind == list[Source]:
        if not isinstance(value, list):
            raise ConfigError(f"{where}: {name} should be a list of tables {{brackets = ..., conll = ...}}")
        return [_build(Source, item, where, f"{name}[{place}].") for place, item in enumerate(value)]
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{where}: {name} should be {kind.__name__}, not {value!r}")
    return value


# name -> (allowed, what that is in words)
_CHOICES = {
    "encoder.kind": ("pretrained", "lstm"),
    "encoder.pooling": ("mean", "first"),
    "model.system": SYSTEMS,
    "model.loss": ("margin", "crf"),
    "model.labeller": ("biaffine", "mlp"),
    "data.incompatible": ("drop", "separate"),
    "data.binarization": ("head", "left", "right"),
    "data.mismatch": ("strict", "skip"),
    "training.precision": ("auto", "fp32", "bf16"),
    "training.punctuation": ("ptb", "unicode", "upos", "none"),
}
_RANGES = {
    "training.rate": (0, 0.1, False),
    "training.encoder_rate": (0, 0.01, True),
    "training.epochs": (1, 10_000, True),
    "training.batch_pieces": (16, 10_000_000, True),
    "training.accumulate": (1, 10_000, True),
    "training.beta1": (0, 0.99999, True),
    "training.beta2": (0, 0.999999, True),
    "training.epsilon": (0, 1, False),
    "training.weight_decay": (0, 10, True),
    "training.clip": (0, 1e6, False),
    "training.warmup": (0, 1, True),
    "training.average": (0, 0.99999, True),
    "training.label_weight": (0, 1000, True),
    "training.tag_weight": (0, 1000, True),
    "training.patience": (0, 10_000, True),
    "training.checkpoint_minutes": (0, 1e6, True),
    "data.max_words": (0, 10**9, True),
    "data.every": (1, 10**9, True),
    "data.limit": (0, 10**9, True),
    "encoder.layers": (1, 1000, True),
    "encoder.dropout": (0, 0.95, True),
    "encoder.window": (0, 10**7, True),
    "encoder.overlap": (0, 10**6, True),
    "encoder.lstm_dropout": (0, 0.95, True),
    "encoder.word_dropout": (0, 0.95, True),
    "encoder.depth": (1, 100, True),
    "model.mlp_dropout": (0, 0.95, True),
}


def _check(config: Config, where: str) -> None:
    for name, allowed in _CHOICES.items():
        value = _look_up(config, name)
        if value not in allowed:
            raise ConfigError(f"{where}: {name} = {value!r}: choose {', '.join(allowed)}")
    for name, (low, high, including) in _RANGES.items():
        value = _look_up(config, name)
        if not (low <= value <= high and (including or value > low)):
            edge = "from" if including else "above"
            raise ConfigError(f"{where}: {name} = {value!r} is out of range: {edge} {low:g} to {high:g}")
    for kind in ("encoder", "model"):
        for entry in dataclasses.fields(getattr(config, kind)):
            if entry.name.endswith(("_size", "_filters")) and _look_up(config, f"{kind}.{entry.name}") < 1:
                raise ConfigError(f"{where}: {kind}.{entry.name} should be at least 1")
    if config.encoder.kind == "pretrained" and not config.encoder.path:
        raise ConfigError(
            f'{where}: encoder.path is missing: name a folder or hub model, or set encoder.kind = "lstm"'
        )
    if config.model.system.startswith("joint") and config.data.binarization != "head":
        raise ConfigError(
            f'{where}: {config.model.system} searches l-trees: data.binarization must be "head"'
        )
    for name in ("train", "dev"):
        if not getattr(config.data, name):
            raise ConfigError(f"{where}: data.{name} names no treebank")
    for name in ("train", "dev", "test"):
        for place, source in enumerate(getattr(config.data, name)):
            if not source.brackets or not source.conll:
                raise ConfigError(f"{where}: data.{name}[{place}] needs both brackets and conll")
            if source.repeat < 1:
                raise ConfigError(f"{where}: data.{name}[{place}].repeat should be at least 1")
    if not config.output:
        raise ConfigError(f"{where}: output names no folder for the run")


def _look_up(config: Config, name: str) -> Any:
    section, _, field = name.partition(".")
    return getattr(getattr(config, section), field)


def _resolve(config: Config, folder: Path) -> Config:
    """Make every path absolute, and check that the files are there before anything long begins."""
    root = _path(config.data.root, folder) if config.data.root else folder

    def sources(given: list[Source]) -> list[Source]:
        out = []
        for source in given:
            brackets, conll = _path(source.brackets, root), _path(source.conll, root)
            for file in (brackets, conll):
                if not file.is_file():
                    raise ConfigError(f"{file}: no such file (data.root is {root})")
            out.append(dataclasses.replace(source, brackets=str(brackets), conll=str(conll)))
        return out

    data = dataclasses.replace(
        config.data,
        root=str(root),
        train=sources(config.data.train),
        dev=sources(config.data.dev),
        test=sources(config.data.test),
    )
    encoder = config.encoder
    if encoder.kind == "pretrained":
        encoder = dataclasses.replace(encoder, path=_encoder_path(encoder.path, folder))
    return dataclasses.replace(config, data=data, encoder=encoder, output=str(_path(config.output, folder)))


def _path(text: str, folder: Path) -> Path:
    expanded = os.path.expanduser(os.path.expandvars(text))
    missing = re.search(r"\$(\w+|\{[^}]*\})", expanded)
    if missing:
        raise ConfigError(f"{text}: the environment variable {missing.group(0)} is not set")
    return Path(os.path.normpath(folder.absolute() / expanded))


def _encoder_path(text: str, folder: Path) -> str:
    """A folder that is there, a folder in a package, or else a hub name left as it is."""
    if text.startswith("package:"):
        name, _, inside = text.removeprefix("package:").partition("/")
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(f"encoder.path = {text!r}: the package {name} is not installed")
        return str(Path(next(iter(spec.submodule_search_locations))) / inside)
    path = _path(text, folder)
    if path.is_dir():
        return str(path)
    if text.startswith((".", "/", "~", "$")) or text.count("/") > 1:
        raise ConfigError(f"encoder.path = {text!r}: no such folder ({path})")
    return text


def _apply(data: dict[str, Any], override: str, toml: Any) -> None:
    name, equals, text = override.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {override}: write key=value, for example training.epochs=3")
    try:
        value = toml.loads(f"value = {text}")["value"]
    except toml.TOMLDecodeError:
        value = text
    *sections, last = name.strip().split(".")
    table = data
    for section in sections:
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {override}: {section} is not a table")
    table[last] = value


def _nearest(name: str, known: Any) -> str | None:
    import difflib

    near = difflib.get_close_matches(name, list(known), 1)
    return near[0] if near else None


def _toml() -> Any:
    try:
        import tomllib

        return tomllib
    except ModuleNotFoundError:
        import tomli

        return tomli


def _as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)
