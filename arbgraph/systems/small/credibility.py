"""Credibility of answers: learned priors, learned verdicts between answers of one entity, and Algorithm 1 over both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Batch

from arbgraph.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import CredibilityPropagation
from arbgraph.systems.small.claims import (
    CLAIM_FEATURES,
    PAIR_FEATURES,
    SIDE_FEATURES,
    AnswerClaim,
    claim_features,
    claims_of,
    pair_features,
    side_features,
)
from arbgraph.systems.small.evidence import Testimony
from arbgraph.systems.small.phrases import FEATURES as GRAMMAR_FEATURES
from arbgraph.systems.small.rescoring import FEATURES, features, posteriors

KIND = "AnswerCredibility"
# Learned weights: part -> the features that it weighs.
PARTS: dict[str, tuple[str, ...]] = {
    "grammar": GRAMMAR_FEATURES,
    "rescoring": FEATURES,
    "prior": CLAIM_FEATURES,
    "contradiction": PAIR_FEATURES,
    "verdict": SIDE_FEATURES,
}
# Priors stay this far from 0 and 1.
MARGIN = 1e-4


@dataclass(frozen=True)
class CredibilitySettings:
    """Scalars of the propagation; see `CredibilityPropagation`. `abstain` is the logit of "the evidence does not decide".

    `copy_overlap` is the share of word runs that makes two documents one source; so do `retold_cosine` and `retold_words` together
    (`arbgraph.independence.paraphrases`; a cosine above 1 turns them off and needs no encoder). `least_mass`: see `claims_of`.
    """

    rounds: int = 2
    step_size: float = 1.0
    tau_accept: float = 0.3
    tau_gate: float = 0.5
    tau_conf: float = 0.5
    abstain: float = -1.0
    copy_overlap: float = 0.2
    retold_cosine: float = 2.0
    retold_words: float = 0.45
    least_mass: float = 0.3


@dataclass(frozen=True)
class Weights:
    """Everything learned: the weights of each part by feature name, and the scalars of the propagation.

    `generative_reader` is the checkpoint whose scores they weigh, or None.
    """

    parts: Mapping[str, Mapping[str, float]]
    settings: CredibilitySettings = field(default_factory=CredibilitySettings)
    generative_reader: str | None = None

    def vector(self, part: str) -> np.ndarray:
        """The weights of a part in the order of its features."""
        return np.array([self.parts[part][name] for name in PARTS[part]])

    @classmethod
    def load(cls, name: str | Path) -> tuple[Weights, Checkpoint]:
        """The weights of a checkpoint folder, or of a shipped one by name; a feature that it was fitted without weighs nothing.

        Raises CheckpointError on a missing or damaged folder, and on one that weighs features of another version.
        """
        checkpoint = load_checkpoint(name, kind=KIND)
        head = checkpoint.head()
        parts = {}
        for part, names in PARTS.items():
            fitted = [name.removeprefix(f"{part}.") for name in checkpoint.config.features if name.startswith(f"{part}.")]
            values = head.get(part)
            if values is None or values.shape != (len(fitted),) or not {*fitted} <= {*names}:
                raise CheckpointError(f"{checkpoint.path}: {part} does not weigh the features of this version; fit it again")
            parts[part] = dict.fromkeys(names, 0.0) | dict(zip(fitted, values.double().tolist(), strict=True))
        try:
            stated = dict(checkpoint.config.settings)
            generative_reader = stated.pop("generative_reader", None)
            settings = CredibilitySettings(**stated)
        except TypeError as error:
            raise CheckpointError(f"{checkpoint.path}: {error}; fit it again with this version") from error
        return cls(parts, settings, generative_reader), checkpoint


@dataclass(frozen=True)
class Judged:
    """Claims of one question with their credibility `p`, whether they are accepted; and how many pairs of them contradict."""

    claims: list[AnswerClaim]
    p: list[float]
    prior: list[float]
    accepted: list[bool]
    contradictions: int = 0

    def answers(self) -> list[AnswerClaim]:
        """The validated claims, most credible first."""
        order = sorted(range(len(self.claims)), key=lambda row: (-self.p[row], -self.claims[row].mass, self.claims[row].text))
        return [self.claims[row] for row in order if self.accepted[row]]


def judge(question: str, testimonies: Sequence[Testimony], weights: Weights) -> Judged:
    """Rescores the phrases, makes claims, and arbitrates between those that contradict each other."""
    rows = posteriors(weights.parts["rescoring"], features(question, testimonies))
    claims = claims_of(testimonies, rows, weights.settings.least_mass)
    graph = evidence_graph(question, testimonies, claims, weights)
    return propagate([claims], [graph], weights.settings)[0]


def evidence_graph(question: str, testimonies: Sequence[Testimony], claims: Sequence[AnswerClaim], weights: Weights) -> EvidenceGraph:
    """Claims as nodes with their prior, every pair with the probability that it is a contradiction, and the verdict on it."""
    prior = _sigmoid(claim_features(question, testimonies, claims) @ weights.vector("prior")).clip(MARGIN, 1 - MARGIN)
    pairs, about = pair_features(question, testimonies, claims)
    contradict = _sigmoid(about @ weights.vector("contradiction"))
    side = side_features(question, testimonies, claims) @ weights.vector("verdict")
    z = side[pairs[0]] - side[pairs[1]] if pairs.size else np.zeros(0)
    verdict = torch.softmax(torch.tensor(np.stack([z / 2, -z / 2, np.full_like(z, weights.settings.abstain)], axis=1)), dim=1)
    relation = torch.tensor(np.stack([np.zeros_like(contradict), contradict, 1 - contradict], axis=1))
    return EvidenceGraph.build(
        torch.tensor(prior, dtype=torch.float64), torch.tensor(pairs, dtype=torch.long), relation, verdict=verdict.reshape(-1, 3)
    )


def propagate(claims: Sequence[list[AnswerClaim]], graphs: Sequence[EvidenceGraph], settings: CredibilitySettings) -> list[Judged]:
    """Algorithm 1 on the graphs of several questions: contradictions above `tau_conf` are arbitrated, all of them in every round."""
    rows = [row for row, graph in enumerate(graphs) if claims[row] and graph.num_nodes]
    judged = [Judged([], [], [], []) for _ in graphs]
    if not rows:
        return judged
    layer = CredibilityPropagation(
        rounds=settings.rounds,
        budget=None,
        step_size=settings.step_size,
        tau_accept=settings.tau_accept,
        tau_gate=settings.tau_gate,
        tau_conf=settings.tau_conf,
        tau_q=-1.0,
        tau_sim=-1.0,
        early_stop=True,
    )
    batch = Batch.from_data_list([graphs[row] for row in rows])
    with torch.inference_mode():
        trace = layer(batch)
    nodes, pairs = [graphs[row].num_nodes or 0 for row in rows], [graphs[row].num_pairs for row in rows]
    parts = zip(rows, trace.p.split(nodes), trace.accepted.split(nodes), trace.edges.contradiction.split(pairs), strict=True)
    for row, p, accepted, contradiction in parts:
        prior = graphs[row]["prior"].tolist()
        judged[row] = Judged(list(claims[row]), p.tolist(), prior, accepted.tolist(), int(contradiction.sum()))
    return judged


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
