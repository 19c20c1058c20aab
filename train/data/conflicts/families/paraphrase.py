"""Paraphrase at high and low overlap: the same happening in other words, and near twins that differ in one content word."""

from __future__ import annotations

from train.data.conflicts.banks import bank
from train.data.conflicts.families.stories import read_stories

BANK = bank("paraphrase")

REWORDING = read_stories(BANK["REWORDING"])
