"""Training the learned evidence arbitrator on the contradictions between labelled claims."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from arbgraph.arbitrator.learned import CONTEXT, DIFFERENCES, LearnedEvidenceArbitrator, PairPerceptron, pair_features
from arbgraph.propagation.credibility import CredibilityPropagation
from train.propagation_data import LabelledGraphs, TrainingDataError
from train.propagation_fit import build

ABSTAIN = 2


@dataclass(frozen=True)
class ArbitratorSettings:
    """How the perceptron is trained.

    differences, context: names of features (`arbgraph.arbitrator.learned`). hidden: width. ally: discount of allied sources, in [0, 1].
    steps, learning_rate, decay: of Adam on all pairs at once, with an L2 penalty on the weights.
    similarity, confidence: pairs to learn from have at least this cosine and this P(contradict).
    """

    differences: tuple[str, ...] = DIFFERENCES
    context: tuple[str, ...] = CONTEXT
    hidden: int = 16
    ally: float = 0.5
    steps: int = 300
    learning_rate: float = 0.02
    decay: float = 0.03
    similarity: float = 0.45
    confidence: float = 0.34


@dataclass(frozen=True)
class TrainingPairs:
    """C contradictions between labelled claims: their numbers among the pairs of the batch, features, outcome and weight, `[C, ..]`.

    `outcome` is 0 or 1 where that side is valid and the other is not, 2 (abstain) where both are or neither is. Weights sum to 1, sets
    count alike.
    """

    pairs: Tensor
    differences: Tensor
    context: Tensor
    outcome: Tensor
    weight: Tensor


def training_pairs(data: LabelledGraphs, settings: ArbitratorSettings) -> TrainingPairs:
    """The contradictions to learn from. Raises TrainingDataError where no pair has one valid and one invalid side."""
    graph = data.batch
    edges = build({"tau_q": -1.0, "tau_sim": settings.similarity, "tau_conf": settings.confidence}).select_edges(graph)
    a, b = graph.pair_index
    pairs = (edges.contradiction & data.known[a] & data.known[b]).nonzero().squeeze(-1)
    left, right = data.label[a[pairs]], data.label[b[pairs]]
    outcome = torch.where(left == right, ABSTAIN, torch.where(left > right, 0, 1))
    if not (outcome != ABSTAIN).any():
        raise TrainingDataError("no contradiction has one valid and one invalid side; there is no winner to learn from")
    number = data.set_of[a[pairs]]
    counts = torch.bincount(number).double()
    weight = 1 / counts[number] / (counts > 0).sum()
    differences, context = pair_features(graph, pairs, edges.support, edges.contradiction, settings.ally)
    return TrainingPairs(pairs, differences, context, outcome, weight)


def train_arbitrator(data: LabelledGraphs, settings: ArbitratorSettings, *, seed: int = 0) -> LearnedEvidenceArbitrator:
    """A perceptron trained alone on the labelled contradictions; the same seed gives the same weights.

    Raises TrainingDataError as `training_pairs`.
    """
    examples = training_pairs(data, settings)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = PairPerceptron(settings.differences, settings.context, settings.hidden)
    features = model.select(examples.differences, examples.context)
    model.standardise(*features)
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
    for step in range(settings.steps):
        optimiser.param_groups[0]["lr"] = settings.learning_rate * (1 - step / settings.steps)
        optimiser.zero_grad()
        loss = pair_loss(model, features, examples) + settings.decay * penalty(model)
        loss.backward()
        optimiser.step()
    return LearnedEvidenceArbitrator(model, ally=settings.ally)


class JointArbitrator:
    """A copy of a trained arbitrator whose weights move with the propagation's, in place of verdicts filled once.

    Args:
        start: the arbitrator to start from; it is not changed.
        data, settings: what it was trained on and how; its own pair loss stays in the objective.
        layer: whose edges the features are taken under, once.
    """

    def __init__(
        self, start: LearnedEvidenceArbitrator, data: LabelledGraphs, settings: ArbitratorSettings, layer: CredibilityPropagation
    ) -> None:
        self.model, self.settings = copy.deepcopy(start.model).train(), settings
        self.given = data.batch.verdict
        self.missing = self.given[:, 0].isnan().nonzero().squeeze(-1)
        edges = layer.select_edges(data.batch)
        features = pair_features(data.batch, self.missing, edges.support, edges.contradiction, settings.ally)
        self.features = self.model.select(*features)
        self.examples = training_pairs(data, settings)
        self.example_features = self.model.select(self.examples.differences, self.examples.context)

    def parameters(self) -> list[nn.Parameter]:
        """The weights of the perceptron."""
        return list(self.model.parameters())

    def verdict(self) -> Tensor:
        """Verdicts of all pairs `[E, 3]`, with gradients where the arbitrator gives them."""
        return self.given.index_put((self.missing,), torch.softmax(self.model(*self.features), -1))

    def loss(self) -> Tensor:
        """The arbitrator's own objective: pair loss and penalty."""
        return pair_loss(self.model, self.example_features, self.examples) + self.settings.decay * penalty(self.model)

    def finished(self) -> LearnedEvidenceArbitrator:
        """The arbitrator with the weights as they are now."""
        return LearnedEvidenceArbitrator(copy.deepcopy(self.model), ally=self.settings.ally)


def pair_loss(model: PairPerceptron, features: tuple[Tensor, Tensor], examples: TrainingPairs) -> Tensor:
    """Weighted cross-entropy of the outcomes."""
    return (examples.weight * nn.functional.cross_entropy(model(*features), examples.outcome, reduction="none")).sum()


def penalty(model: PairPerceptron) -> Tensor:
    """Sum of squared weights, biases left out."""
    return model.inner.weight.square().sum() + model.outer.weight.square().sum()


@torch.no_grad()
def arbitrator_report(probabilities: Tensor, outcome: Tensor, gate: float = 0.5) -> dict[str, Any]:
    """How verdicts `[C, 3]` fare against outcomes `[C]`.

    `accuracy` of the three-way verdict; `winner_accuracy`, the likelier of both sides where one is right; `gated_share`, verdicts
    with a side of at least `gate`; `gated_precision`, how many of those name the right side; `cross_entropy`. None where undefined.
    """
    decided = outcome != ABSTAIN
    side = probabilities[:, :2].argmax(-1)
    gated = probabilities[:, :2].amax(-1) >= gate

    def share(hits: Tensor) -> float | None:
        return float(hits.double().mean()) if hits.numel() else None

    return {
        "pairs": outcome.numel(),
        "decided": int(decided.sum()),
        "accuracy": share(probabilities.argmax(-1) == outcome),
        "winner_accuracy": share((side == outcome)[decided]),
        "gated_share": share(gated),
        "gated_precision": share((side == outcome)[gated]),
        "cross_entropy": float(nn.functional.nll_loss(probabilities.clamp(min=1e-9).log(), outcome)) if outcome.numel() else None,
    }
