"""The arbitrators that read text: both orders, failures, calibration, checkpoints."""

from __future__ import annotations

import math
import re

import pytest
import torch

from arbgraph.arbitrator.calibration import VerdictCalibration, fit_verdict_calibration
from arbgraph.arbitrator.cases import ArbitrationCase, Statement
from arbgraph.arbitrator.causal_lm import KIND, OPTIONS, CausalArbitrator
from arbgraph.arbitrator.chat import ChatArbitrator
from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.checkpoint import Base, CheckpointConfig, CheckpointError, save_checkpoint
from arbgraph.models import weights_sha256
from tests.chat.support import ScriptedChat, block
from tests.chat.tiny import save_tiny


def case(a="It opened in 1932.", b="It opened in 1940.", count=3):
    return ArbitrationCase(
        query="When did it open?",
        claim_a=a,
        claim_b=b,
        context_a=tuple(Statement(text=f"Report {n} says {a}", title=f"Paper {n}", date=f"200{n}") for n in range(count)),
        context_b=(Statement(text=b, title="Blog"),),
    )


def fair(request):
    """Finds for 1932 on whichever side it stands."""
    winner = "A" if "1932" in block(request.messages, "claim-A") else "B"
    return {"reason": "Three reports agree.", "winner": winner, "confidence": 0.9}


def test_a_fair_model_gives_the_same_verdict_in_both_orders():
    arbitrator = ChatArbitrator(ScriptedChat(fair))
    verdicts = arbitrator.decide([case()])
    torch.testing.assert_close(verdicts.probabilities, torch.tensor([[0.9, 0.0, 0.1]], dtype=torch.float64))
    assert verdicts.rationales == ["Three reports agree."]
    assert len(arbitrator.chat.asked) == 2


def test_a_model_that_always_takes_the_first_decides_nothing():
    always = ChatArbitrator(ScriptedChat(lambda request: {"reason": "A it is.", "winner": "A", "confidence": 0.9}))
    verdicts = always.decide([case()])
    torch.testing.assert_close(verdicts.probabilities, torch.tensor([[0.45, 0.45, 0.1]], dtype=torch.float64))
    assert "changed when the claims were listed in the other order" in verdicts.rationales[0]


def test_unknown_abstains_and_a_modest_winner_leaves_its_doubt_to_abstention():
    unknown = ChatArbitrator(ScriptedChat(lambda request: {"reason": "r", "winner": "unknown", "confidence": 0.8}))
    torch.testing.assert_close(unknown.decide([case()]).probabilities, torch.tensor([[0.1, 0.1, 0.8]], dtype=torch.float64))
    modest = ChatArbitrator(ScriptedChat(lambda request: {**fair(request), "confidence": 0.2}))
    assert int(modest.decide([case()]).probabilities.argmax()) == 2


@pytest.mark.parametrize("order", [0, 1])
def test_a_failure_in_either_order_is_a_failure_of_the_pair_and_of_no_other(order):
    def script(request):
        first = "1932" in block(request.messages, "claim-A")
        return fair(request) if first == bool(order) or "2031" in request.messages.turns[1].content else "no json"

    arbitrator = ChatArbitrator(ScriptedChat(script))
    broken, whole = case(), case(a="In 1932 it was.", b="It was 2031.")
    verdicts = arbitrator.decide([broken, whole])
    assert verdicts.probabilities[0].isnan().all()
    assert float(verdicts.probabilities[1, 0]) == pytest.approx(0.9)
    assert verdicts.rationales[0].startswith("malformed")
    assert [len(failures) for failures in verdicts.failures] == [1, 0]
    # The broken order was asked twice, every other once.
    assert [spent["calls"] for spent in verdicts.usage] == [3, 2]


def test_statements_without_room_are_counted():
    arbitrator = ChatArbitrator(ScriptedChat(fair), context_tokens=30)
    arbitrator.decide([case(count=30)])
    assert arbitrator.left_out > 20


def keen_on(prompt_side_a, a=-0.1, b=-3.0, u=-2.0):
    return lambda messages: [a, b, u] if prompt_side_a in block(messages, "claim-A") else [b, a, u]


def test_option_scores_are_averaged_over_both_orders_by_hand():
    # With 1932 first the model says (-0.1, -3, -2); with 1940 first it says (-1, -0.5, -2).
    scores = {True: [-0.1, -3.0, -2.0], False: [-1.0, -0.5, -2.0]}
    chat = ScriptedChat(lambda request: "", scores=lambda messages: scores["1932" in block(messages, "claim-A")])
    arbitrator = CausalArbitrator(chat)

    def softmax(values):
        total = sum(math.exp(v) for v in values)
        return [v - math.log(total) for v in values]

    first, second = softmax([-0.1, -3.0, -2.0]), softmax([-0.5, -1.0, -2.0])
    expected = softmax([(x + y) / 2 for x, y in zip(first, second, strict=True)])
    probabilities = arbitrator.decide([case()]).probabilities
    assert probabilities[0].tolist() == pytest.approx([math.exp(v) for v in expected])
    assert arbitrator.order_scores([case()])[0].tolist() == [pytest.approx(first), pytest.approx(second)]


@pytest.mark.parametrize("calibration", [None, VerdictCalibration(1.7, -0.4)])
def test_swapping_a_case_swaps_the_verdict_bit_for_bit(tiny_chat, calibration):
    arbitrator = CausalArbitrator(tiny_chat, calibration=calibration)
    cases = [case(), case(a="Yes.", b="No, and a longer claim it is.", count=1)]
    forward = arbitrator.decide(cases).probabilities
    backward = arbitrator.decide([c.swapped() for c in cases]).probabilities
    assert torch.equal(forward, backward[:, [1, 0, 2]])
    torch.testing.assert_close(forward.sum(-1), torch.ones(2, dtype=torch.float64))


def test_a_batch_gives_what_each_case_gives_alone(tiny_chat):
    arbitrator = CausalArbitrator(tiny_chat)
    cases = [case(), case(a="Yes.", b="No.", count=1), case(a="x", b="y", count=2)]
    alone = torch.cat([arbitrator.decide([c]).probabilities for c in cases])
    torch.testing.assert_close(arbitrator.decide(cases).probabilities, alone, rtol=0, atol=1e-5)
    assert arbitrator.decide([]).probabilities.shape == (0, 3)


def test_failed_scores_are_nan_with_a_reason():
    chat = ScriptedChat(lambda request: "", scores=lambda messages: [float("nan")] * 3)
    verdicts = CausalArbitrator(chat).decide([case()])
    assert verdicts.probabilities.isnan().all()
    assert verdicts.rationales == ["the model gave no scores"]


def test_a_strong_lead_passes_the_gate_and_a_calibration_can_take_it_back():
    chat = ScriptedChat(lambda request: "", scores=keen_on("1932"))
    assert float(CausalArbitrator(chat).decide([case()]).probabilities[0, 0]) > 0.8
    humble = CausalArbitrator(chat, calibration=VerdictCalibration(temperature=5.0, abstain=1.0))
    assert int(humble.decide([case()]).probabilities.argmax()) == 2


def test_the_fitted_temperature_undoes_overconfidence():
    torch.manual_seed(0)
    true = torch.randn(4000, 3, dtype=torch.float64)
    outcomes = torch.distributions.Categorical(logits=true).sample()
    fitted = fit_verdict_calibration(true * 3, outcomes)
    assert fitted.temperature == pytest.approx(3.0, rel=0.15)
    assert fitted.abstain == pytest.approx(0.0, abs=0.15)
    assert VerdictCalibration.from_dict(fitted.to_dict()) == fitted
    shifted = true.clone()
    shifted[:, 2] -= 1.5  # a model that is too shy of unknown
    assert fit_verdict_calibration(shifted, outcomes).abstain == pytest.approx(1.5, abs=0.2)


def test_calibration_needs_whole_cases_and_never_makes_it_worse():
    with pytest.raises(ValueError, match="at least one case"):
        fit_verdict_calibration(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
    with pytest.raises(ValueError, match="finite"):
        fit_verdict_calibration(torch.tensor([[0.0, 0.0, float("nan")]]), torch.tensor([0]))
    # All right and all known: the fit stays finite.
    perfect = fit_verdict_calibration(torch.tensor([[5.0, 0.0, 0.0]] * 8), torch.zeros(8, dtype=torch.long))
    assert 0 < perfect.temperature < 100
    assert math.isfinite(perfect.abstain)


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    # Prompts take about a token per byte here.
    return save_tiny(tmp_path_factory.mktemp("tiny"), context=16384)


@pytest.fixture(scope="module")
def tiny_chat(tiny_model):
    return TransformersChat(str(tiny_model), device="cpu")


@pytest.fixture
def checkpoint(tiny_model, tmp_path):
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(3)
    config = LoraConfig(r=2, target_modules=["v_proj", "up_proj"], init_lora_weights=False, task_type="CAUSAL_LM")
    adapted = get_peft_model(AutoModelForCausalLM.from_pretrained(tiny_model), config)

    def save(**settings):
        return save_checkpoint(
            tmp_path / "arbitrator",
            CheckpointConfig(
                kind=KIND,
                base=Base(name=str(tiny_model), sha256=weights_sha256(tiny_model)),
                settings=CausalArbitrator.checkpoint_settings(500) | settings,
                calibration=VerdictCalibration(1.5, 0.25).to_dict(),
            ),
            head={},
            adapted=adapted,
            card="card",
            metrics={},
            training={},
        )

    return save, adapted


def test_a_checkpoint_gives_the_verdicts_of_the_adapted_model(checkpoint, tiny_chat):
    save, adapted = checkpoint
    arbitrator = CausalArbitrator.load(save().path, device="cpu")
    assert arbitrator.context_tokens == 500
    assert arbitrator.calibration == VerdictCalibration(1.5, 0.25)
    prompts = arbitrator.prompts([case(), case().swapped()])
    rows = []
    for messages in prompts:
        text = arbitrator.chat.render(messages)
        for option in OPTIONS:
            start, whole = (arbitrator.chat.tokenizer(t, add_special_tokens=False)["input_ids"] for t in (text, text + option))
            with torch.inference_mode():
                table = adapted.eval()(input_ids=torch.tensor([whole])).logits[0].double().log_softmax(-1)
            rows.append(sum(float(table[i - 1, whole[i]]) for i in range(len(start), len(whole))))
    both = torch.tensor(rows, dtype=torch.float64).view(2, 3).log_softmax(-1)
    expected = VerdictCalibration(1.5, 0.25).log_probabilities((both[0] + both[1][[1, 0, 2]]) / 2).exp()
    torch.testing.assert_close(arbitrator.decide([case()]).probabilities[0], expected, rtol=0, atol=1e-5)
    other = CausalArbitrator(tiny_chat, context_tokens=500, calibration=VerdictCalibration(1.5, 0.25))
    assert not torch.allclose(other.decide([case()]).probabilities[0], expected, atol=1e-3)
    assert arbitrator.fingerprint != other.fingerprint
    assert arbitrator.describe()["prompt"] == "decision/2"


def test_a_checkpoint_of_another_prompt_or_without_settings_is_refused(checkpoint):
    save, _ = checkpoint
    with pytest.raises(CheckpointError, match=re.escape("trained on the prompt 'decision/0'")):
        CausalArbitrator.load(save(prompt="decision/0").path)
    with pytest.raises(CheckpointError, match="must state the options"):
        CausalArbitrator.load(save(options=["A", "B"]).path)
