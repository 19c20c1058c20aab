"""The verifier through a chat model: the interface of the trained one, and failures that make no edge."""

from __future__ import annotations

import math

import pytest
import torch

from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.schema import NEUTRAL, RELATION_LABELS, SUPPORT
from arbgraph.verifier.calibration import Calibration, VerifierCalibration
from arbgraph.verifier.chat import NO_OPINION, ChatVerifier
from tests.chat.support import ScriptedChat, block
from tests.chat.tiny import save_tiny

PAIR = ("The lake is deep.", "The lake is not deep.")


def scoring(by_first):
    return ScriptedChat(lambda request: "", scores=lambda messages: by_first[block(messages, "first")])


def test_both_orders_are_combined_by_hand():
    # First order: (0.2, 0.6, 0.2); second: (0.5, 0.4, 0.1). Support is the larger, the others are geometric means.
    chat = scoring({PAIR[0]: [math.log(p / 2) for p in (0.2, 0.6, 0.2)], PAIR[1]: [math.log(p / 4) for p in (0.5, 0.4, 0.1)]})
    raw = [0.5, math.sqrt(0.24), math.sqrt(0.02)]
    (row,) = ChatVerifier(chat).relate([PAIR]).tolist()
    assert row == pytest.approx([value / sum(raw) for value in raw])


def test_a_calibration_applies_to_one_order_and_to_the_verdict_by_hand():
    # Both orders say (0.2, 0.6, 0.2). Temperature 1/2 squares them; the verdict's bias then triples neutral.
    chat = scoring({text: [math.log(p) for p in (0.2, 0.6, 0.2)] for text in PAIR})
    calibration = VerifierCalibration(Calibration(0.5), Calibration(1.0, (0.0, 0.0, math.log(3))))
    (row,) = ChatVerifier(chat, calibration=calibration).relate([PAIR]).tolist()
    assert row == pytest.approx([0.04 / 0.52, 0.36 / 0.52, 0.12 / 0.52])
    assert ChatVerifier(chat, calibration=calibration).describe()["calibration"] == calibration.to_dict()


def test_swapping_a_pair_changes_no_bit_and_equal_pairs_are_asked_once(tmp_path):
    verifier = ChatVerifier(TransformersChat(str(save_tiny(tmp_path, context=8192)), device="cpu"))
    rows = verifier.relate([PAIR, PAIR[::-1], ("a b", "c"), PAIR])
    assert torch.equal(rows[0], rows[1])
    assert torch.equal(rows[0], rows[3])
    assert rows.dtype == torch.float32
    torch.testing.assert_close(rows.sum(-1), torch.ones(4))
    chat = scoring({text: [-1.0, -1.0, -1.0] for text in PAIR})
    ChatVerifier(chat).relate([PAIR, PAIR[::-1], PAIR])
    assert len(chat.scored) == 2


def test_a_written_relation_with_its_confidence():
    chat = ScriptedChat(lambda request: {"reason": "r", "relation": "contradict", "confidence": 0.8})
    (row,) = ChatVerifier(chat, scoring="reply").relate([PAIR]).tolist()
    assert row == pytest.approx([0.1, 0.8, 0.1], abs=1e-5)
    sure = ScriptedChat(lambda request: {"reason": "r", "relation": "support", "confidence": 1.0})
    assert ChatVerifier(sure, scoring="reply").relate([PAIR])[0, SUPPORT] == pytest.approx(1.0, abs=1e-4)


def test_a_failure_is_listed_and_makes_no_edge():
    broken = ScriptedChat(
        lambda request: (
            "no json" if block(request.messages, "first") == PAIR[0] else {"reason": "r", "relation": "support", "confidence": 0.9}
        )
    )
    verifier = ChatVerifier(broken, scoring="reply")
    rows = verifier.relate([PAIR, ("a b", "c")])
    assert rows[0].tolist() == pytest.approx(NO_OPINION)
    assert int(rows[0].argmax()) == NEUTRAL
    assert float(rows[0].max()) < 0.5
    assert int(rows[1].argmax()) == SUPPORT
    assert [failure.stage for failure in verifier.failures] == ["relation-reply"]
    assert verifier.usage["calls"] == 5  # two pairs in two orders, one of them repaired
    silent = ChatVerifier(ScriptedChat(lambda request: "", scores=lambda messages: [math.nan] * 3))
    assert silent.relate([PAIR])[0].tolist() == pytest.approx(NO_OPINION)
    assert len(silent.failures) == 2


def test_the_interface_of_a_verifier():
    verifier = ChatVerifier(ScriptedChat(lambda request: ""))
    assert verifier.relate([]).shape == (0, 3)
    assert verifier.describe()["labels"] == list(RELATION_LABELS)
    assert verifier.describe()["prompt"] == "relation/1"
    assert ChatVerifier(verifier.chat, scoring="reply").describe()["prompt"] == "relation-reply/1"
    with pytest.raises(ValueError, match="pair 1: a text is empty"):
        verifier.relate([PAIR, ("a", " ")])
    with pytest.raises(ValueError, match="choose options or reply"):
        ChatVerifier(verifier.chat, scoring="guess")
