"""A model bundle: a folder that an installed parser reads, without torch and without pickle.

config.json      format version, system, inventories, inputs, training data, licence, scores
tokenizer.json   the tokenizer of a pretrained encoder
lemmas.json      words that training saw with one lemma, by tag and edit; read when lemmas are first asked for
*.onnx           the graphs, two for each model (a SEP parser has two models)
checksums.json   the SHA-256 of every other file
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from arcspan._version import __version__
from arcspan.errors import BundleError, ConfigError
from arcspan.files import dump
from arcspan.runtime.schema import LEMMAS, check

MOST_JSON = 1 << 28  # bytes of a configuration
FORMAT = 2  # 1 had the lemmas of lemmas.json in config.json; both are read
MODELS = Path(__file__).parents[1] / "models"  # inside the package
SEGMENTER = ("segmenter.json", "segmenter.onnx")  # which a bundle may have
_HUB = re.compile(r"[\w.-]+/[\w.-]+@[\w.-]+")  # org/name@revision
ENTRY_POINTS = (
    "arcspan.models"  # of packages that bring a model: `de = "my_package.de"` has a bundle's files
)


def find_bundle(name: str | os.PathLike[str]) -> Path:
    """The folder of a bundle: its path, or the name of a model inside arcspan or of one that was installed.

    org/name@revision is a model of the Hugging Face hub, which is fetched once: the one name that uses the network.
    """
    path = Path(name)
    if isinstance(name, str) and _HUB.fullmatch(name) and not path.exists():
        return _fetch(*name.split("@"))
    if path.is_dir() or not isinstance(name, str) or path.name != name:
        return path
    if (MODELS / name).is_dir():
        return MODELS / name
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    installed = {one.name: one.value for one in entry_points(group=ENTRY_POINTS)}
    if name not in installed:
        inside = [one.name for one in MODELS.glob("*/") if (one / "config.json").is_file()]
        known = ", ".join(sorted({*inside, *installed})) or "none"
        raise BundleError(
            f"{name}: no such folder, and no model of that name is installed (installed: {known}): "
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
    config, texts = (
        {**config, "format": FORMAT, "inventories": dict(config["inventories"])},
        dict(texts),
    )
    if seen := config["inventories"].pop("seen_lemmas", None):
        texts[LEMMAS] = json.dumps(seen, ensure_ascii=False, separators=(",", ":")) + "\n"
        config["seen_lemmas"] = LEMMAS
    for name, text in {**texts, "config.json": dump(config)}.items():
        (work / name).write_text(text, encoding="utf-8")
    sums = {file.name: checksum(file) for file in sorted(work.iterdir())}
    (work / "checksums.json").write_text(dump(sums), encoding="utf-8")
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
        if target.exists():  # otherwise what was there could not be moved back, and is kept
            shutil.rmtree(old, ignore_errors=True)


def update_bundle(
    folder: Path, changes: dict[str, Any], texts: dict[str, str] | None = None
) -> None:
    """Change fields of a bundle's configuration and add text files; the old bundle stays until all is done."""
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
    """The configuration of a bundle, after checking its format and that every file is there and undamaged."""
    folder = Path(folder)
    if not folder.is_dir():
        raise BundleError(
            f"{folder}: no such folder: name a model bundle (arcspan export makes one)"
        )
    config = _read_json(folder / "config.json")
    place, found = folder / "config.json", config.get("format")
    if not isinstance(found, int) or isinstance(found, bool):
        raise BundleError(f"{place}: no format version: not a model bundle")
    if found > FORMAT:
        raise BundleError(
            f"{folder}: bundle format {found} is newer than {FORMAT}, the newest that arcspan {__version__} reads: "
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
    try:
        check(config)
    except ConfigError as error:
        raise BundleError(f"{place}: damaged: {error}") from None
    needed = [
        "config.json",
        *(part[name] for part in config["components"] for name in ("score", "label")),
    ]
    needed += ["tokenizer.json"] if config["inputs"]["kind"] == "pieces" else []
    needed += [config["seen_lemmas"]] if "seen_lemmas" in config else []
    for name in (*needed, *(name for name in SEGMENTER if (folder / name).exists())):
        if name not in sums:
            raise BundleError(f"{folder / 'checksums.json'}: damaged: it does not have {name}")
    return config


def checksum(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():  # a device has no end
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
