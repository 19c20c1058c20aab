"""One split of questions for everybody: a question keeps its part in every file, benchmark and training run."""

from __future__ import annotations

import unicodedata
from typing import Literal

from arbgraph.schema import content_id

Split = Literal["train", "dev", "test"]

TRAIN_SHARE, DEV_SHARE = 0.5, 0.1  # the rest is for testing


def split_of(question: str) -> Split:
    """The part of a question in data that brings no splits of its own: half train, a tenth dev, the rest test.

    Decided by a hash of the question's text without case and spacing, so that a question that occurs in two data sets is on the same side
    in both.
    """
    place = int(content_id("split", _key(question)), 16) / 16**16
    return "train" if place < TRAIN_SHARE else "dev" if place < TRAIN_SHARE + DEV_SHARE else "test"


def fold_of(question: str, folds: int) -> int:
    """The fold of a question in cross-validation, 0 to `folds` - 1, by another hash of the same text."""
    return int(content_id("fold", _key(question)), 16) % folds


def _key(question: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", question).casefold().split())
