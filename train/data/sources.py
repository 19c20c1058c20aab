"""Where labelled pairs come from: files, or datasets of the Hugging Face hub."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arbgraph.schema import RELATION_LABELS, RelationLabel
from arbgraph.verifier.labels import ALIASES, parse_label
from arbgraph.verifier.pairs import DROP, LabelledPair, PairFileError, file_rows, label_rows


@dataclass
class PairSource:
    """One set of pairs in the mix: a file (`path`) or a hub dataset (`hub`).

    Args:
        path: `.jsonl`, `.jsonl.gz` or `.parquet`, relative to the data root.
        hub: name of a dataset on the hub, or a folder of data files, read with `datasets`.
        subset: configuration of the hub dataset, where it has several.
        split: of the hub dataset.
        revision: commit, tag or branch of the hub dataset; a commit pins the data.
        name: shown in logs and on the card; by default the folder's or the dataset's name.
        weight: how often each pair is seen per epoch; 0.5 draws half of them anew every epoch.
        cap: at most this many pairs, chosen by a hash of the text, so a smaller cap is a subset of a larger one.
        columns: which column holds `a`, `b` and `label`; null finds the usual names.
        labels: this set's own label names -> support, contradict, neutral, or `drop` for rows to leave out (counted).
        licence: of the data, for the card.
        reversible: labels that still hold when a pair is read backwards. Contradiction always does; neutral does where the second
            text is about something else, not where it only says more than the first.
        undirected: all labels hold for both orders, and dev scores are taken after combining them.
        calibrate: whether a dev set takes part in calibration.
    """

    path: str = ""
    hub: str = ""
    subset: str | None = None
    split: str = "train"
    revision: str | None = None
    name: str = ""
    weight: float = 1.0
    cap: int | None = None
    columns: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    licence: str = "not stated"
    reversible: list[str] = field(default_factory=lambda: ["contradict"])
    undirected: bool = False
    calibrate: bool = True

    def __post_init__(self) -> None:
        if bool(self.path) == bool(self.hub):
            raise ValueError(
                f"a source of pairs is either a file or a hub dataset: give one of path ({self.path!r}) and hub ({self.hub!r})"
            )
        of_file = Path(self.path).parent.name or Path(self.path).stem
        self.name = self.name or (Path(self.hub).name if self.hub else of_file)
        if self.weight <= 0:
            raise ValueError(f"{self.name}: weight {self.weight} must be above 0; leave the set out instead")
        for label, meaning in (self.labels or {}).items():
            if meaning != DROP and meaning not in ALIASES:
                known = ", ".join((*RELATION_LABELS, DROP))
                raise ValueError(f"{self.name}: labels maps {label!r} to {meaning!r}; map it to one of {known}")
        self._holds_backwards = set(RelationLabel) if self.undirected else {parse_label(label) for label in self.reversible}
        self.dropped = 0

    def allowed_backwards(self, pair: LabelledPair) -> list[bool]:
        """Which labels `[3]` the pair may have when read backwards.

        Where the label need not hold, one thing is still known: the reverse of a support or neutral pair is no contradiction.
        """
        if pair.label in self._holds_backwards or pair.equivalent:
            return [name == pair.label for name in RELATION_LABELS]
        return [name != RelationLabel.CONTRADICT for name in RELATION_LABELS]

    def read(self, root: str | Path, *, offline: bool = True) -> list[LabelledPair]:
        """The pairs, cut to `cap`, in the set's order; `dropped` then counts the rows that the label map left out.

        Raises PairFileError naming the set, the row and the remedy.
        """
        if self.hub:
            rows, where = self._hub_rows(offline), f"hub dataset {self.hub} ({self.split})"
        else:
            rows, where = file_rows(Path(root) / self.path), str(Path(root) / self.path)
        pairs, self.dropped = label_rows(rows, where, self.columns, self.labels)
        if self.cap is None or len(pairs) <= self.cap:
            return pairs
        chosen = sorted(range(len(pairs)), key=lambda row: (_digest(pairs[row]), row))[: self.cap]
        return [pairs[row] for row in sorted(chosen)]

    def _hub_rows(self, offline: bool) -> Iterator[dict[str, Any]]:
        from datasets import ClassLabel, load_dataset

        try:
            with _hub_access(offline):
                data: Any = load_dataset(self.hub, self.subset, split=self.split, revision=self.revision)
        except (OSError, ValueError, RuntimeError) as error:
            raise PairFileError(f"hub dataset {self.hub!r}, split {self.split!r}: {_reason(error)}; {_remedy(offline)}") from error
        named = {name: kind for name, kind in (data.features or {}).items() if isinstance(kind, ClassLabel)}
        for row in data:
            # Class numbers mean nothing without the names that the dataset gives them; -1 is its "no label".
            yield {
                key: named[key].int2str(value) if key in named and value is not None and value >= 0 else value for key, value in row.items()
            }


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _remedy(offline: bool) -> str:
    if offline:
        return (
            "offline mode reads folders and what `datasets` has already cached; set data.offline: false to fetch it, "
            "or give its files with `path`"
        )
    return "check name, subset, split and revision, or give its files with `path`"


@contextmanager
def _hub_access(offline: bool) -> Iterator[None]:
    # `datasets` and the hub's client read the environment once, on import; offline must hold whatever was imported before.
    import datasets.config
    import huggingface_hub.constants

    places: tuple[Any, ...] = (datasets.config, huggingface_hub.constants)
    before = [place.HF_HUB_OFFLINE for place in places]
    try:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value or offline
        yield
    finally:
        for place, value in zip(places, before, strict=True):
            place.HF_HUB_OFFLINE = value


def _digest(pair: LabelledPair) -> str:
    return hashlib.sha256(f"{pair.a}\x1f{pair.b}\x1f{pair.label}".encode()).hexdigest()
