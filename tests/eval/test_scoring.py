"""What the metrics see of a stored prediction, a failed one included."""

from __future__ import annotations

from typing import Any

import pytest

from arbgraph.schema import Answer, Failed, Query
from eval.benchmarks import Item
from eval.scoring import score_with_failures, scored

ITEM = Item(query=Query(id="q", query="Where?", documents=()), gold=(("Paris",),))
LOOP = Failed(stage="standard", reason="truncated", raw="Answer: Paris; Paris; Par", usage={"calls": 2})


def row(answer: Answer | None = None, failed: Failed | None = None) -> dict[str, Any]:
    return {"answer": answer and answer.model_dump(), "failed": failed and failed.model_dump(), "tokens": None}


@pytest.mark.parametrize(
    ("prediction", "written", "contained"),
    [
        (row(failed=LOOP), 1.0, 0.0),
        (row(answer=Answer(text="It is Paris.", short_answers=("Paris",))), 1.0, 1.0),
        (row(answer=Answer(text="unknown", abstained=True)), 0.0, 0.0),
    ],
)
def test_what_a_failed_reply_says_counts_as_written_and_not_as_an_answer(prediction, written, contained):
    one = scored(ITEM, prediction)
    failed = ["q"] if prediction["failed"] else []
    found = score_with_failures([one], failed, ["containment_written", "containment", "exact_match"])
    assert found.means["containment_written"].value == written
    assert found.means["containment"].value == contained
    assert found.means["exact_match"].value == contained
