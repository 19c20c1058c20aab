"""The written answer: only validated claims, a citation per sentence, disputes stated, and no answer out of a failure."""

from __future__ import annotations

import pytest

from arbgraph.generation.extractive import NOTHING_LEFT, ExtractiveWriter
from arbgraph.generation.generative import GenerativeWriter
from arbgraph.schema import ArbitratedClaim, Arbitration, Decision, Mention, Relation, RelationLabel, SourceDocument
from tests.chat.support import ScriptedChat, block


def claim(identifier, text, status="validated", credibility=0.8, relevance=0.9, document="d1"):
    return ArbitratedClaim(
        id=identifier,
        text=text,
        mentions=(Mention(document_id=document, start=0, end=0),),
        status=status,
        credibility=credibility,
        relevance=relevance,
    )


def contradiction(a, b):
    probabilities = {RelationLabel.SUPPORT: 0.1, RelationLabel.CONTRADICT: 0.8, RelationLabel.NEUTRAL: 0.1}
    return Relation(a=a, b=b, label=RelationLabel.CONTRADICT, probabilities=probabilities, similarity=0.8)


def arbitration(*claims, relations=(), query="When did the bridge open?"):
    decisions = tuple(Decision(a=r.a, b=r.b, winner=None, confidence=0.5, gate=0, round=1) for r in relations)
    documents = tuple(SourceDocument(id=f"d{n}", title=f"Paper {n}", source="Press", published="2001") for n in range(1, 6))
    return Arbitration(id="q", query=query, claims=claims, relations=tuple(relations), decisions=decisions, documents=documents)


OPENED = claim("c1", "The bridge opened in 1932.")
LENGTH = claim("c2", "The bridge is 503 metres long.", relevance=0.6, document="d2")
FALSE = claim("c3", "The bridge opened in 1940.", status="suppressed", credibility=0.1, document="d3")
RIVAL = claim("c4", "The bridge opened in 1933.", relevance=0.8, document="d4")


def reply(*sentences, answerable=True, short=()):
    return {"answerable": answerable, "sentences": [{"text": t, "claims": list(c)} for t, c in sentences], "short_answers": list(short)}


def write(made, script):
    writer = GenerativeWriter(ScriptedChat(script if callable(script) else lambda request: script))
    (answer,) = writer.write([made])
    return answer, writer


def cited(answer):
    return [(answer.text[c.start : c.end], c.claim_ids, c.document_ids) for c in answer.citations]


def test_sentences_carry_the_citations_of_their_claims():
    script = reply(("It opened in 1932.", [1]), ("At 503 metres it is long, and it opened in 1932.", [2, 1]), short=["1932", "503 metres"])
    answer, _ = write(arbitration(OPENED, LENGTH), script)
    assert answer.text == "It opened in 1932. At 503 metres it is long, and it opened in 1932."
    assert cited(answer) == [
        ("It opened in 1932.", ("c1",), ("d1",)),
        ("At 503 metres it is long, and it opened in 1932.", ("c2", "c1"), ("d1", "d2")),
    ]
    assert answer.short_answers == ("1932", "503 metres")
    assert answer.usage == {"calls": 1, "completion_tokens": 5, "prompt_tokens": 10}
    assert not answer.abstained


def test_the_model_sees_validated_claims_only_with_their_sources():
    _, writer = write(arbitration(OPENED, LENGTH, FALSE), reply(("It opened in 1932.", [1])))
    (request,) = writer.chat.asked
    assert block(request.messages, "claims") == (
        "1. The bridge opened in 1932. [Paper 1, Press, 2001-01-01]\n2. The bridge is 503 metres long. [Paper 2, Press, 2001-01-01]"
    )
    assert block(request.messages, "question") == "When did the bridge open?"
    assert "1940" not in str(request.messages)


def test_sentences_without_grounds_are_dropped_and_counted():
    script = reply(
        ("It opened in 1932.", [1]),
        ("Everybody cheered.", []),
        ("It is famous.", [7, 0, -1]),
        ("It cost 5,000 crowns.", [1, 2]),
        ("It opened in 1940.", [1]),
        ("  ", [1]),
        short=["1932", "1940", "a great day", "Yes", ""],
    )
    answer, _ = write(arbitration(OPENED, LENGTH), script)
    assert answer.text == "It opened in 1932."
    assert (answer.usage["sentences_uncited"], answer.usage["sentences_unsupported"]) == (3, 2)
    assert answer.short_answers == ("1932", "Yes")
    assert answer.usage["short_answers_dropped"] == 3
    assert "failure" not in answer.trace


def test_figures_of_the_query_may_be_repeated():
    answer, _ = write(arbitration(OPENED, query="Was it open in 1935?"), reply(("It was open in 1935, since 1932.", [1])))
    assert answer.text == "It was open in 1935, since 1932."


def test_a_rejected_rival_is_stated_though_the_model_never_saw_it():
    made = arbitration(OPENED, FALSE, relations=[contradiction("c1", "c3")])
    answer, _ = write(made, reply(("It opened in 1932.", [1])))
    assert answer.text == "It opened in 1932. Rejected: “The bridge opened in 1940”."
    assert cited(answer)[1][1:] == (("c3",), ("d3",))


def test_an_open_dispute_is_announced_and_added_where_the_model_is_silent():
    made = arbitration(OPENED, LENGTH, RIVAL, relations=[contradiction("c1", "c4")])
    answer, writer = write(made, reply(("It opened in 1932.", [1])))
    assert "Disputed and not decided: “The bridge opened in 1932” against “The bridge opened in 1933”." in answer.text
    assert "Disputed pairs of claims: 1 and 2." in writer.chat.asked[0].messages.turns[1].content
    answer, _ = write(made, reply(("Sources disagree whether it opened in 1932 or in 1933.", [1, 2])))
    assert answer.text == "Sources disagree whether it opened in 1932 or in 1933."


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("no json", "malformed"),
        (reply(), "no sentence rests on the claims"),
        (reply(("It cost 5.", [1])), "no sentence rests on the claims"),
    ],
)
def test_a_failed_reply_gives_the_extractive_answer_and_is_counted(script, reason):
    made = arbitration(OPENED, LENGTH)
    answer, _ = write(made, script)
    (extractive,) = ExtractiveWriter().write([made])
    assert (answer.text, answer.citations) == (extractive.text, extractive.citations)
    assert answer.usage["generation_failed"] == 1
    assert reason in answer.trace["failure"]["reason"]
    assert answer.trace["failure"]["stage"] == "writing"


def test_abstention():
    answer, writer = write(arbitration(FALSE), lambda request: pytest.fail("nothing to ask"))
    assert answer.abstained
    assert answer.text == NOTHING_LEFT
    answer, _ = write(arbitration(LENGTH), reply(answerable=False))
    assert answer.abstained
    assert answer.citations == ()
    assert answer.usage["calls"] == 1
    assert writer.write([]) == []


def test_claims_beyond_the_budget_are_left_out_and_counted():
    claims = [claim(f"c{n:02}", f"Fact number {n} about the bridge.", relevance=1 - n / 100) for n in range(30)]
    writer = GenerativeWriter(ScriptedChat(lambda request: reply(("A fact.", [1]))), claim_tokens=100)
    (answer,) = writer.write([arbitration(*claims)])
    lines = block(writer.chat.asked[0].messages, "claims").split("\n")
    assert lines[0].startswith("1. Fact number 0")
    assert sum(writer.chat.count_tokens(line) for line in lines) <= 100
    assert answer.usage["claims_left_out"] == 30 - len(lines) > 0


def test_batch_equals_single_and_one_failure_stays_alone():
    def script(request):
        return "no json" if "503" in block(request.messages, "claims") else reply(("It opened in 1932.", [1]))

    writer = GenerativeWriter(ScriptedChat(script))
    answers = writer.write([arbitration(OPENED), arbitration(LENGTH), arbitration(FALSE)])
    assert [answer.usage.get("generation_failed", 0) for answer in answers] == [0, 1, 0]
    assert answers[0] == GenerativeWriter(ScriptedChat(script)).write([arbitration(OPENED)])[0]
