"""A model bundle: a folder that an installed parser reads, without torch and without pickle.

config.json      format version, system, inventories, inputs, training data, licence, scores
tokenizer.json   the tokenizer of a pretrained encoder
lemmas.json      words that training saw with one lemma, by tag and edit; read when lemmas are first
                 asked for
lexicon.json.xz  the lexicon of a model that has one, and those words, in place of lemmas.json
*.onnx           the graphs, two for each model (a SEP parser has two models)
checksums.json   the SHA-256 of every other file
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from arcspan._version import __version__
from arcspan.errors import BundleError, ConfigError
from arcspan.files import dump
from arcspan.runtime.schema import LEMMAS, LEXICON, LexiconContent, check
from arcspan.settings import read

# The largest configuration that is read, in bytes.
MOST_JSON = 1 << 28
# The largest lexicon, in bytes before it was compressed.
MOST_LEXICON = 1 << 26
# Format 1 had the lemmas of lemmas.json in config.json; both are read.
FORMAT = 2
# Models inside the package.
MODELS = Path(__file__).parents[1] / "models"
# Files that a bundle may have.
SEGMENTER = ("segmenter.json", "segmenter.onnx")
# Entry points of packages that bring a model: `de = "my_package.de"` has a bundle's files.
ENTRY_POINTS = "arcspan.models"
_HUB = re.compile(r"(?P<repository>\w[\w.-]*/\w[\w.-]*)@(?P<revision>\w[\w.-]*)", re.ASCII)
# The files that a bundle may have beside those that checksums.json lists: those of the hub and of
# people, and the files that make the folder of an installed model a Python package.
_UNLISTED = re.compile(r"checksums\.json$|\.|(README|LICENSE)[\w.-]*$|__init__\.py$|__pycache__$")


def find_bundle(name: str | os.PathLike[str]) -> Path:
    """Return the folder of a bundle: its path, or the name of a model inside arcspan or of one that
    was installed.

    org/name@revision is a model of the Hugging Face hub, which is fetched once: the one name that
    uses the network.
    """
    path = Path(name)
    # "./a@b" and "../a@b" are paths, whether they exist or not.
    hub_name = _HUB.fullmatch(name) if isinstance(name, str) else None
    if hub_name is not None and not os.path.lexists(path):
        return _fetch(hub_name["repository"], hub_name["revision"])
    if path.is_dir() or not isinstance(name, str) or path.name != name:
        return path
    if (MODELS / name).is_dir():
        return MODELS / name
    # Most programs need neither: these imports take as long as all others of this module.
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    installed = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}
    if name not in installed:
        inside = [folder.name for folder in MODELS.glob("*/") if (folder / "config.json").is_file()]
        names = ", ".join(sorted({*inside, *installed})) or "none"
        raise BundleError(
            f"{name}: no such folder, and no model of that name is installed (installed: {names}): "
            "name a model bundle (arcspan export makes one)"
        )
    spec = find_spec(installed[name])
    if spec is None or not spec.submodule_search_locations:
        raise BundleError(
            f"{name}: the installed model names a package {installed[name]} that is not there"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _fetch(repository: str, revision: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise BundleError(
            f"{repository}@{revision}: a model of the hub needs pip install huggingface_hub"
        ) from None
    try:
        return Path(snapshot_download(repository, revision=revision))
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BundleError(
            f"{repository}@{revision}: cannot be fetched from the hub: {reason}"
        ) from None


def write_bundle(work: Path, target: Path, config: dict[str, Any], texts: dict[str, str]) -> None:
    """Complete a bundle in `work`, which holds its graphs, and move it to `target`.

    A bundle that was there is moved aside first, and removed once the new one is in its place.
    """
    inventories = dict(config["inventories"])
    config = {**config, "format": FORMAT, "inventories": inventories}
    files = dict(texts)
    # A file of its own, which is read when lemmas are: it takes longer than the rest.
    lemmas = inventories.pop("seen_lemmas", None)
    if lexicon := inventories.pop("lexicon", None):
        (work / LEXICON).write_bytes(pack_lexicon({**lexicon, "seen_lemmas": lemmas or {}}))
        config["lexicon"] = LEXICON
        # Of the bundle that is updated, if it had no lexicon.
        config.pop("seen_lemmas", None)
        (work / LEMMAS).unlink(missing_ok=True)
    elif lemmas:
        files[LEMMAS] = json.dumps(lemmas, ensure_ascii=False, separators=(",", ":")) + "\n"
        config["seen_lemmas"] = LEMMAS
    files["config.json"] = dump(config)
    for name, text in files.items():
        (work / name).write_text(text, encoding="utf-8")
    sums = {file.name: checksum(file) for file in sorted(work.iterdir())}
    (work / "checksums.json").write_text(dump(sums), encoding="utf-8")
    # Temporary folders are their owner's alone.
    os.chmod(work, 0o755)
    if not target.exists():
        os.replace(work, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        os.replace(target, old / "bundle")
        try:
            os.replace(work, target)
        except BaseException:
            os.replace(old / "bundle", target)
            raise
    finally:
        # Otherwise the old bundle could not be moved back, and stays where it is.
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)


def update_bundle(
    folder: Path, changes: dict[str, Any], texts: dict[str, str] | None = None
) -> None:
    """Change fields of a bundle's configuration and add text files; the old bundle stays until all
    is done.
    """
    config = read_bundle(folder)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for file in folder.iterdir():
            if file.name not in ("config.json", "checksums.json"):
                shutil.copy2(file, work / file.name)
        write_bundle(work, folder, {**config, **changes}, texts or {})
    finally:
        shutil.rmtree(work, ignore_errors=True)


def read_bundle(folder: str | os.PathLike[str], *, verify: bool = True) -> dict[str, Any]:
    """Return the configuration of a bundle, after checking its format and that every file is there
    and undamaged.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BundleError(
            f"{folder}: no such folder: name a model bundle (arcspan export makes one)"
        )
    config = _read_json(folder / "config.json")
    config_file = folder / "config.json"
    version = config.get("format")
    if not isinstance(version, int) or isinstance(version, bool):
        raise BundleError(f"{config_file}: no format version: not a model bundle")
    if version > FORMAT:
        raise BundleError(
            f"{folder}: bundle format {version} is newer than {FORMAT}, the newest that arcspan {__version__} reads: "
            "install a newer arcspan"
        )
    sums = _read_json(folder / "checksums.json")
    for name, expected in sums.items():
        file = folder / name
        if Path(name).name != name or not isinstance(expected, str):
            raise BundleError(
                f"{folder / 'checksums.json'}: damaged: {name!r} is not a file of the bundle"
            )
        if not file.is_file():
            raise BundleError(f"{file}: missing from the bundle")
        if verify and checksum(file) != expected:
            raise BundleError(
                f"{file}: damaged (its checksum differs from the one in checksums.json)"
            )
    for file in sorted(folder.iterdir()):
        if file.name not in sums and not _UNLISTED.match(file.name):
            raise BundleError(
                f"{file}: not a file of the bundle: checksums.json does not list it; remove it"
            )
    try:
        check(config)
    except ConfigError as error:
        raise BundleError(f"{config_file}: damaged: {error}") from None
    needed = ["config.json"]
    for component in config["components"]:
        needed += [component["score"], component["label"]]
    if config["inputs"]["kind"] == "pieces":
        needed.append("tokenizer.json")
    needed += [config[field] for field in ("seen_lemmas", "lexicon") if field in config]
    needed += [name for name in SEGMENTER if (folder / name).exists()]
    for name in needed:
        if name not in sums:
            raise BundleError(f"{folder / 'checksums.json'}: damaged: it does not have {name}")
    return config


def pack_lexicon(content: dict[str, Any]) -> bytes:
    """Return the file of a lexicon: the fields of `LexiconContent` as JSON, compressed."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME)


def read_lexicon(path: Path) -> LexiconContent:
    """Return the content of a lexicon's file."""
    decompressor = lzma.LZMADecompressor()
    try:
        # A few bytes can stand for any number of them.
        data = decompressor.decompress(path.read_bytes(), MOST_LEXICON)
        if not decompressor.eof:
            raise BundleError(f"{path}: damaged: cut off, or over {MOST_LEXICON:,} bytes")
        return read(LexiconContent, json.loads(data))
    except ConfigError as error:
        raise BundleError(f"{path}: damaged: {error}") from None
    except (OSError, RecursionError, ValueError, lzma.LZMAError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BundleError(f"{path}: damaged: {reason}") from None


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    # Not a device, which may have no end.
    if not path.is_file():
        raise BundleError(f"{path}: missing: not a model bundle")
    if path.stat().st_size > MOST_JSON:
        raise BundleError(f"{path}: damaged: over {MOST_JSON:,} bytes")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path}: damaged: {error}") from None
    if not isinstance(data, dict):
        raise BundleError(f"{path}: damaged: not a JSON object")
    return data
