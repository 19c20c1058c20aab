"""The terminal view of one answer: citations by number, what it cost, failures counted once per reason."""

from __future__ import annotations

import io

from rich.console import Console

from arbgraph.schema import Answer, Citation, Document, Failed, Query
from arbgraph.view import FAILURES, render_answer

QUERY = Query(
    id="q",
    query="When did it open?",
    documents=(Document(id="b", text="y", title="Blog"), Document(id="a", text="x", title="Archive", source="City", published="1990")),
)


def shown(outcome) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_answer(QUERY, outcome))
    return console.export_text()


def test_documents_are_numbered_in_the_order_of_their_ids_and_only_cited_ones_are_listed():
    text = "It opened in 1932. So the archive says."
    citations = (
        Citation(start=0, end=18, claim_ids=("c",), document_ids=("a",)),
        Citation(start=19, end=39, claim_ids=(), document_ids=("a",)),
    )
    out = shown(Answer(text=text, citations=citations, short_answers=("1932", "autumn 1932")))
    assert "It opened in 1932. [1] So the archive says. [1]" in out
    assert "In short: 1932; autumn 1932" in out
    assert "[1] Archive · City · 1990-01-01" in out
    assert "Blog" not in out
    assert "calls" not in out


def test_cost_and_counts_are_stated():
    usage = {"calls": 3, "prompt_tokens": 120, "completion_tokens": 7, "documents_cut": 2, "documents_dropped": 0}
    out = shown(Answer(text="It is 1932.", usage=usage))
    assert "3 calls, 120 tokens read, 7 written, 2 documents cut" in out
    assert "dropped" not in out


def test_equal_failures_share_a_line_and_the_rest_is_counted():
    repeated = [Failed(stage="relation", reason="the model gave no scores").model_dump(exclude={"usage"})] * 4
    others = [Failed(stage="extraction", reason=f"document {n}").model_dump(exclude={"usage"}) for n in range(FAILURES + 2)]
    out = shown(Answer(text="x", trace={"failures": [*repeated, *others]}))
    assert "! relation: the model gave no scores (4 times)" in out
    assert out.count("! extraction") == FAILURES - 1
    assert "! and 3 more failures" in out


def test_a_failure_shows_what_the_model_wrote():
    out = shown(Failed(stage="standard", reason="no line", raw="[bold]Well[/bold], I think", usage={"calls": 1}))
    assert "No answer: standard: no line" in out
    assert "the model wrote: [bold]Well[/bold], I think" in out
    assert "1 calls" in out
