"""Status against event: a standing fact (member, captain, owner, open) and single happenings that leave it alone."""

from __future__ import annotations

from train.data.conflicts.banks import bank
from train.data.conflicts.families.stories import read_stories

BANK = bank("status")

STATUS = read_stories(BANK["STATUS"])
