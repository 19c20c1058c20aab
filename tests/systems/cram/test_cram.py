"""CrAM on a tiny model: equal credibility changes nothing, zero hides a document, and only the chosen heads are touched."""

from __future__ import annotations

import pytest
import torch

from arbgraph.chat.base import ChatError, Request
from arbgraph.chat.cached import CachedChat
from arbgraph.chat.quoting import Block
from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.schema import Answer, Failed
from arbgraph.systems.cram import CrAM, HeadExample, ReweightedChat, best_heads, indirect_effects, reweighted
from arbgraph.systems.cram.attention import all_heads
from arbgraph.systems.cram.system import ANSWER, attention_weights
from tests.chat.tiny import save_tiny
from tests.systems.conversations import Conversation, query

DOCUMENTS = [Block("document", "It was built in 1975.", {"number": "1"}), Block("document", "It was 1980.", {"number": "2"})]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return TransformersChat(str(save_tiny(tmp_path_factory.mktemp("tiny"), context=4096)), device="cpu")


@pytest.fixture
def messages():
    return ANSWER.messages([Block("question", "When?"), *DOCUMENTS])


def logits(chat, ids, **weighting):
    with torch.inference_mode():
        if not weighting:
            return chat.model(input_ids=ids).logits
        with reweighted(chat.model, **weighting):
            return chat.model(input_ids=ids).logits


@pytest.fixture
def ids():
    return torch.arange(20, 60)[None]


def test_equal_weights_equal_the_unmodified_model(tiny, ids):
    plain = logits(tiny, ids)
    assert torch.equal(logits(tiny, ids, weights=torch.ones(30)), plain)
    # Nearly equal weights go the other way, through the eager attention and its mask.
    assert (logits(tiny, ids, weights=torch.full((40,), 1 - 1e-7)) - plain).abs().max() < 1e-4
    assert tiny.model.config._attn_implementation == "sdpa"
    assert torch.equal(logits(tiny, ids), plain)  # nothing is left behind


def test_a_weight_multiplies_attention_and_renormalises(tiny, ids):
    weights = torch.ones(40)
    weights[10:20] = 0.25
    tiny.model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            plain = tiny.model(input_ids=ids, output_attentions=True).attentions[0]
            with reweighted(tiny.model, weights, [(0, 1)]):
                scaled = tiny.model(input_ids=ids, output_attentions=True).attentions[0]
    finally:
        tiny.model.set_attn_implementation("sdpa")
    by_hand = plain * weights
    by_hand /= by_hand.sum(-1, keepdim=True)
    assert torch.allclose(scaled[0, 1], by_hand[0, 1], atol=1e-6)
    assert (by_hand[0, 1] - plain[0, 1]).abs().max() > 1e-3
    assert torch.equal(scaled[0, [0, 2, 3]], plain[0, [0, 2, 3]])


def test_weight_zero_hides_tokens_from_all_that_follow(tiny, ids):
    weights = torch.ones(30)
    weights[10:20] = 0
    other = ids.clone()
    other[0, 10:20] = 7
    hidden, changed = (logits(tiny, one, weights=weights)[0, 20:] for one in (ids, other))
    assert torch.allclose(hidden, changed, atol=1e-6)
    assert not torch.allclose(logits(tiny, ids)[0, 20:], logits(tiny, other)[0, 20:], atol=1e-3)
    assert hidden.isfinite().all()


def test_weights_and_heads_that_cannot_be(tiny):
    with pytest.raises(ValueError, match=r"lie in \[0, 1\]"), reweighted(tiny.model, torch.tensor([1.5])):
        pass
    with pytest.raises(ValueError, match="no head"), reweighted(tiny.model, torch.ones(1), [(2, 0)]):
        pass
    with pytest.raises(ChatError, match="TransformersChat"):
        ReweightedChat(Conversation({}))  # type: ignore[arg-type]
    assert len(all_heads(tiny.model)) == 2 * 4


def test_every_token_of_a_block_gets_its_weight_and_no_other(tiny, messages):
    chat = ReweightedChat(tiny)
    chat.weigh(messages, "document", [0.5, 0.25])
    weights = chat.token_weights(messages)
    text = tiny.render(messages)
    offsets = tiny.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    for document, weight in zip(DOCUMENTS, (0.5, 0.25), strict=True):
        start = text.index(document.text)
        inside = [row for row, (a, b) in enumerate(offsets) if a < start + len(document.text) and b > start]
        assert set(weights[inside].tolist()) == {weight}
    code = messages.turns[1].content[6:14]
    shown = sum(len(text.split(f"<document-{code}")[n].split(f"</document-{code}>")[0]) for n in (1, 2))
    markers = 2 * len(f"<document-{code}</document-{code}>")
    assert int((weights < 1).sum()) == shown + markers  # one token per byte, but for a few words
    before = sum(end <= text.index(f"<document-{code}") for _, end in offsets)
    assert weights[:before].eq(1).all()
    assert weights[before] == 0.5


def test_weights_reach_the_scores_of_options(tiny):
    def scores(text: str, weight: float):
        blocks = [Block("question", "When?"), DOCUMENTS[0], Block("document", text, {"number": "2"})]
        asked = ANSWER.messages(blocks)
        chat = ReweightedChat(tiny)
        chat.weigh(asked, "document", [1.0, weight])
        return chat.option_logprobs([asked], ("A", "B"))

    plain = scores(DOCUMENTS[1].text, 1.0)
    assert torch.equal(plain, tiny.option_logprobs([ANSWER.messages([Block("question", "When?"), *DOCUMENTS])], ("A", "B")))
    assert not torch.allclose(plain, scores(DOCUMENTS[1].text, 0.0), atol=1e-3)


def test_generation_uses_the_weights_and_other_conversations_pass_through(tiny, messages):
    chat = ReweightedChat(tiny)
    plain = ANSWER.messages([Block("question", "What else?")])
    before = [reply for _, reply in sorted(tiny.generate([Request(messages, None, 8), Request(plain, None, 8)]))]
    chat.weigh(messages, "document", [1.0, 1.0])
    assert [reply for _, reply in sorted(chat.generate([Request(messages, None, 8), Request(plain, None, 8)]))] == before
    chat.weigh(messages, "document", [1.0, 0.0])
    after = [reply for _, reply in sorted(chat.generate([Request(messages, None, 8), Request(plain, None, 8)]))]
    assert after[1] == before[1]
    assert after[0] != before[0]
    chat.forget()
    assert [reply for _, reply in sorted(chat.generate([Request(messages, None, 8), Request(plain, None, 8)]))] == before


def test_generation_continues_as_single_passes_would(tiny, messages):
    """With the cache of keys, later tokens see the same weights as in one pass over everything."""
    chat = ReweightedChat(tiny)
    chat.weigh(messages, "document", [0.3, 0.0])
    [(_, reply)] = list(chat.generate([Request(messages, None, 6)]))
    ids = tiny.tokenizer(tiny.render(messages), add_special_tokens=False)["input_ids"]
    written: list[int] = []
    for _ in range(6):
        row = logits(tiny, torch.tensor([ids + written]), weights=chat.token_weights(messages))[0, -1]
        written.append(int(row.argmax()))
    assert tiny.tokenizer.decode(written, skip_special_tokens=True).startswith(reply.text) or reply.text == tiny.tokenizer.decode(written)


def test_effects_of_heads(tiny, messages):
    effects = indirect_effects(tiny, [HeadExample(messages, 1, "1980")])
    assert effects.shape == (2, 4)
    before = tiny.option_logprobs([messages], ("1980",))[0, 0]
    alone = ReweightedChat(tiny, [(1, 2)])
    alone.weigh(messages, "document", [1.0, 0.0])
    assert effects[1, 2] == pytest.approx(float(before - alone.option_logprobs([messages], ("1980",))[0, 0]))
    assert effects.abs().max() > 0
    with pytest.raises(ValueError, match="at least one"):
        indirect_effects(tiny, [])


def test_best_heads():
    effects = torch.tensor([[0.1, 0.9], [0.5, -0.2]])
    assert best_heads(effects, 2) == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    ("scores", "weights"),
    [
        ([0.1, 0.5, 1.0], [0.0, pytest.approx(4 / 9), 1.0]),
        ([0.5, 0.5], [1.0, 1.0]),
        ([0.0, 0.0], [1.0, 1.0]),
        ([None, 0.2, 0.8], [1.0, 0.0, 1.0]),
        ([None], [1.0]),
        ([], []),
    ],
)
def test_attention_weights(scores, weights):
    assert attention_weights(scores) == weights


def test_the_system_orders_and_weighs_by_credibility(tiny, monkeypatch):
    monkeypatch.setattr(tiny, "generate", lambda requests: iter([(row, _answer()) for row in range(len(requests))]))
    system = CrAM(tiny, credibility="document")
    weighed = []
    monkeypatch.setattr(system.weighing, "weigh", lambda messages, kind, weights: weighed.append((messages, kind, weights)))
    [answer] = system.answer([query("high", "low", "middle", credibility=[1.0, 0.1, 0.4])])
    assert isinstance(answer, Answer)
    assert answer.short_answers == ("1975",)
    [(messages, kind, weights)] = weighed
    assert kind == "document"
    assert weights == [0.0, pytest.approx(1 / 3), 1.0]
    user = messages.turns[-1].content
    assert user.index("low") < user.index("middle") < user.index("high")
    assert answer.trace["order"] == [1, 2, 0]
    [missing] = system.answer([query("one")])
    assert isinstance(missing, Failed)
    assert "no credibility" in missing.reason


def test_the_system_rates_documents(tiny, monkeypatch):
    def generate(requests):
        for row, request in enumerate(requests):
            if request.messages.stage == "cram-answer":
                yield row, _answer()
            else:
                yield row, _answer("Fine.\nScore: 8" if "good" in request.messages.turns[-1].content else "no\nnumber")

    monkeypatch.setattr(tiny, "generate", generate)
    [answer] = CrAM(tiny).answer([query("good text", "strange text")])
    assert isinstance(answer, Answer)
    assert answer.trace["scores"] == [0.8, None]
    assert answer.usage["documents_unrated"] == 1
    assert answer.usage["calls"] == 3


def test_a_cache_keeps_plain_replies_and_no_weighted_ones(tiny, messages, tmp_path):
    cached = CachedChat(tiny, tmp_path / "replies.sqlite")
    chat = ReweightedChat(cached)
    asked = [Request(messages, None, 4), Request(ANSWER.messages([Block("question", "What else?")]), None, 4)]
    chat.weigh(messages, "document", [1.0, 0.0])
    first, second = (sorted(chat.generate(asked)) for _ in range(2))
    assert first == second
    assert (cached.counts["cache_misses"], cached.counts["cache_hits"]) == (1, 1)


def test_equal_credibility_answers_as_the_model_does(tiny):
    def outcome(credibility: float):
        [answer] = CrAM(tiny, credibility="document", max_tokens=5).answer([query("one", "two", credibility=[credibility, credibility])])
        return answer.raw if isinstance(answer, Failed) else answer.text

    assert outcome(0.3) == outcome(1.0)


def _answer(text: str = "Answer: 1975"):
    from arbgraph.chat.base import Reply

    return Reply(text, "stop", 10, 5)
