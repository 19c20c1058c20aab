"""The lockstep driver: one call of the model per kind of request for the whole batch, costs per query, failures per query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch

from arbgraph.chat.base import ChatModel, Messages, Reply, Request
from arbgraph.schema import Answer, Document, Failed, Query
from arbgraph.systems import UnknownSystemError, open_system, systems
from arbgraph.systems.base import Ask, ChatSystem, Score, Steps, scores_of, text_of
from arbgraph.systems.documents import CUT_MARK, show_documents
from arbgraph.systems.replies import read_answers


class EchoChat(ChatModel):
    """Repeats the last word of the prompt; `fail` is refused; scores an option by its length. Remembers the size of every call."""

    name, revision = "echo", "1"

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        if requests:
            self.batches.append(len(requests))
        for row, request in enumerate(requests):
            word = request.messages.turns[-1].content.split()[-1]
            yield row, Reply("", "refusal", 1, 0) if word == "fail" else Reply(word, "stop", len(word), 1)

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> torch.Tensor:
        self.batches.append(len(prompts))
        return torch.tensor([[-float(len(option)) for option in options]] * len(prompts), dtype=torch.float64)


class Chain(ChatSystem):
    """Asks as often as the query has documents, then scores two options."""

    name = "chain"

    def solve(self, query: Query) -> Steps:
        seen = []
        for document in query.documents:
            [reply] = yield [Ask(Messages.of(document.text))]
            seen.append(text_of(reply))
        [scores] = yield [Score(Messages.of("which of the two"), ("yes", "no"))]
        return Answer(text=" ".join([*seen, str(int(scores_of(scores).argmax()))]), usage={"seen": len(seen)})


def query(*texts: str) -> Query:
    return Query(id="-".join(texts), query="q", documents=tuple(Document(text=text) for text in texts))


def test_a_batch_answers_as_each_query_alone_and_shares_the_calls():
    batch = [query("a b", "c d"), query("e f"), query("g h", "i fail", "j k")]
    chat = EchoChat()
    together = Chain(chat).answer(batch)
    # Step 1: three prompts; step 2: two prompts and one score; step 3: the score of the first query.
    assert chat.batches == [3, 2, 1, 1]
    assert together == [Chain(EchoChat()).answer([one])[0] for one in batch]


def test_each_query_is_charged_for_its_own_calls():
    first, second = Chain(EchoChat()).answer([query("a bb", "c dd"), query("e ffff")])
    assert isinstance(first, Answer)
    assert first.text == "bb dd 1"
    assert first.usage == {"seen": 2, "calls": 3, "prompt_tokens": 2 + 2 + 4, "completion_tokens": 2}
    assert isinstance(second, Answer)
    assert second.usage == {"seen": 1, "calls": 2, "prompt_tokens": 4 + 4, "completion_tokens": 1}


def test_a_failed_reply_ends_its_query_only_and_keeps_its_cost():
    failed, fine = Chain(EchoChat()).answer([query("a b", "x fail"), query("e f")])
    assert isinstance(failed, Failed)
    assert "refused" in failed.reason
    assert failed.usage["calls"] == 2
    assert isinstance(fine, Answer)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("Answer: 1975", ("1975",)),
        ("Two people.\nAnswer: 1975; 1980.", ("1975", "1980")),
        ("Answer: not Paris\nI erred.\n**Answer:** **Lyon**", ("Lyon",)),
        ("Answers:\n- Paris\n- Lyon\n- Paris\nThese are all.", ("Paris", "Lyon")),
        ("Answer: unknown", ()),
        ("The answer is: Lyon", ("Lyon",)),
        ("The population of Velm is unknown.", ()),
        ("The document ends before the answer. Answer: unknown.", ()),
        ("There is no such answer: nothing fits", ("There is no such answer: nothing fits",)),
        ('Answer: "U.S."', ("U.S.",)),
        ("Paris", ("Paris",)),
        ("A long story without a mark, which goes on and on and on and never comes to its end.", None),
        ("First line.\nSecond line.", None),
        ("", None),
        ("Answer:", None),
        ("الجواب\nAnswer: القاهرة", ("القاهرة",)),
    ],
)
def test_reading_replies(text, answers):
    assert read_answers(text) == answers


def test_documents_share_the_budget_and_what_is_lost_is_counted():
    def count(text: str) -> int:
        return len(text.split())

    documents = [
        Document(text="one two"),
        Document(text=" ".join(f"w{i}" for i in range(20))),
        Document(text=" ".join(f"v{i}" for i in range(9))),
    ]
    shown = show_documents(documents, 16, count)
    assert [count(block.text) for block in shown.blocks] == [2, 7, 7]
    assert shown.blocks[1].text.endswith(CUT_MARK)
    assert shown.usage == {"documents_cut": 2, "documents_dropped": 0}
    assert show_documents(documents, 31, count).usage == {"documents_cut": 0, "documents_dropped": 0}
    assert show_documents(documents[1:], 2, count).usage == {"documents_cut": 0, "documents_dropped": 2}


def test_the_table_names_what_it_does_not_hold():
    with pytest.raises(UnknownSystemError, match="standard"):
        open_system("magic")


def test_every_row_of_the_table_loads_and_is_named_as_its_class():
    for name, info in systems().items():
        assert info.load().name == name
        assert info.title
        assert 1990 < info.year < 2100
