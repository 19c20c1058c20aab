"""An arbitrator that has learned how to weigh the evidence of a graph: a two-layer perceptron on the features of a pair."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from arbgraph.arbitrator.evidence import FEATURES, Neighbours, evidence_features
from arbgraph.checkpoint import Checkpoint, CheckpointConfig, CheckpointError, load_checkpoint, save_checkpoint
from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.trace import Verdicts
from arbgraph.schema import CONTRADICT, SUPPORT

KIND = "LearnedEvidenceArbitrator"
# Side a minus side b; every one changes its sign when the sides are swapped.
DIFFERENCES: tuple[str, ...] = (*FEATURES, "relevance", "sources", "supported", "contradicted", "trust", "inconsistency", "agreement")
# The same whichever side comes first.
CONTEXT: tuple[str, ...] = ("similarity", "contradiction", "total_mass", "mean_relevance", "mean_agreement")

WORDS: dict[str, tuple[str, str]] = {  # in favour where side a has more, and where it has less
    "mass": ("more independent support", "less independent support"),
    "credibility": ("more credible sources", "less credible sources"),
    "margin": ("agrees better with the other claims", "agrees less with the other claims"),
    "recency": ("newer", "older"),
    "specificity": ("more specific", "less specific"),
    "relevance": ("closer to the query", "further from the query"),
    "sources": ("stated by more sources", "stated by fewer sources"),
    "supported": ("supported by more claims", "supported by fewer claims"),
    "contradicted": ("contradicted by more claims", "contradicted by fewer claims"),
    "trust": ("its sources agree with others", "its sources disagree with others"),
    "agreement": ("copies of its source agree on it", "copies of its source do not all state it"),
    "inconsistency": ("its sources contradict themselves", "the rival's sources contradict themselves"),
}


def pair_features(graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor, ally: float = 0.5) -> tuple[Tensor, Tensor]:
    """What the perceptron sees of the C contradictions `pairs [C]`: differences `[C, 12]` and context `[C, 5]`, float64.

    Differences, side a minus side b: those of `evidence_features`; relevance, cosine with the query; sources, log(1 + independent
    sources); supported and contradicted, log(1 + probabilities of the support or contradiction edges in force, the pair itself left out);
    trust, mean over the claim's sources of tanh(mean relation balance of their other claims); inconsistency, mean over the
    claim's sources of log(1 + probabilities of the contradictions between two claims of that source); agreement, share of the
    copies of its sources that state the claim too.
    Context: cosine of the two claims; P(contradict); log(1 + independent sources behind either side); mean relevance; mean agreement.
    """
    a, b = graph.pair_index[:, pairs]
    evidence = evidence_features(graph, pairs, support, contradiction, ally)
    relation = graph.relation.double()
    supported = _degree(graph, relation[:, SUPPORT] * support)
    contradicted = _degree(graph, relation[:, CONTRADICT] * contradiction)
    own = (relation[:, CONTRADICT] * contradiction)[pairs]
    trust, inconsistency = _source_record(graph, supported - contradicted, contradiction)
    agreement = graph.agreement.double() if "agreement" in graph else torch.ones_like(trust)
    sources, relevance = torch.log1p(graph.sources.double()), graph.relevance.double()
    differences = [
        relevance[a] - relevance[b],
        sources[a] - sources[b],
        torch.log1p(supported[a]) - torch.log1p(supported[b]),
        torch.log1p((contradicted[a] - own).clamp(min=0)) - torch.log1p((contradicted[b] - own).clamp(min=0)),
        trust[a] - trust[b],
        inconsistency[a] - inconsistency[b],
        agreement[a] - agreement[b],
    ]
    context = [
        graph.similarity[pairs].double(),
        relation[pairs, CONTRADICT],
        torch.log1p(evidence.mass.sum(-1)),
        (relevance[a] + relevance[b]) / 2,
        (agreement[a] + agreement[b]) / 2,
    ]
    return torch.cat([evidence.difference, torch.stack(differences, -1)], -1), torch.stack(context, -1)


def _degree(graph: EvidenceGraph, weight: Tensor) -> Tensor:
    """Sum of the weights `[E]` of the pairs of every claim, `[N]`."""
    a, b = graph.pair_index
    zeros = torch.zeros(graph.prior.numel(), dtype=weight.dtype, device=weight.device)
    return zeros.index_add(0, torch.cat([a, b]), weight.repeat(2))


def _source_record(graph: EvidenceGraph, balance: Tensor, contradiction: Tensor) -> tuple[Tensor, Tensor]:
    """Trust and inconsistency of every claim `[N]`, means over its sources."""
    claim, source = graph.source_index
    n, count = graph.prior.numel(), int(source.max()) + 1 if source.numel() else 1
    zeros = torch.zeros(count, dtype=torch.float64, device=balance.device)
    total, claims = zeros.index_add(0, source, balance[claim]), torch.bincount(source, minlength=count).double()
    # Of a source's other claims: a claim does not vouch for itself.
    others = (total[source] - balance[claim]) / (claims[source] - 1).clamp(min=1)
    own = Neighbours.of(claim, source, torch.ones_like(balance[claim]), n)
    a, b = graph.pair_index[:, contradiction]
    row, speaker, _ = own.expand(a)
    both = torch.isin(b[row] * count + speaker, claim * count + source)
    clash = zeros.index_add(0, speaker[both], graph.relation[contradiction, CONTRADICT].double()[row[both]])

    def mean(value: Tensor) -> Tensor:
        return torch.zeros(n, dtype=torch.float64, device=value.device).index_add(0, claim, value) / graph.sources.clamp(min=1)

    return mean(torch.tanh(others)), mean(torch.log1p(clash[source]))


class PairPerceptron(nn.Module):
    """Two layers on standardised features -> log-odds of a wins, b wins, abstain, antisymmetric by construction.

    The same network scores side a from (d, c) and side b from (-d, c), and abstention is the mean of both; swapping the sides of a
    pair, which negates the differences d, swaps the first two outputs.

    Args:
        differences, context: names of the features; a subset of `DIFFERENCES` and `CONTEXT`.
        hidden: width of the hidden layer.

    Shapes:
        input: differences `[C, D]`, context `[C, K]`. output: `[C, 3]`. Parameters are float64.
    """

    scale: Tensor
    context_mean: Tensor
    context_scale: Tensor

    def __init__(self, differences: tuple[str, ...] = DIFFERENCES, context: tuple[str, ...] = CONTEXT, hidden: int = 16) -> None:
        super().__init__()
        for names, known in ((differences, DIFFERENCES), (context, CONTEXT)):
            if unknown := [name for name in names if name not in known]:
                raise ValueError(f"feature {unknown[0]!r} is not known; choose from {', '.join(known)}")
        self.differences, self.context = tuple(differences), tuple(context)
        self.inner = nn.Linear(len(differences) + len(context), hidden, dtype=torch.float64)
        self.outer = nn.Linear(hidden, 2, dtype=torch.float64)
        self.register_buffer("scale", torch.ones(len(differences), dtype=torch.float64))
        self.register_buffer("context_mean", torch.zeros(len(context), dtype=torch.float64))
        self.register_buffer("context_scale", torch.ones(len(context), dtype=torch.float64))

    def select(self, differences: Tensor, context: Tensor) -> tuple[Tensor, Tensor]:
        """The columns that this network uses, of all features."""
        return (
            differences[:, [DIFFERENCES.index(name) for name in self.differences]],
            context[:, [CONTEXT.index(name) for name in self.context]],
        )

    @torch.no_grad()
    def standardise(self, differences: Tensor, context: Tensor) -> None:
        """Takes the scales from training pairs. Differences are only scaled: a shift would favour one side."""
        self.scale.copy_(_scale(differences.square().mean(0).sqrt()))
        self.context_mean.copy_(context.mean(0))
        self.context_scale.copy_(_scale((context - self.context_mean).square().mean(0).sqrt()))

    def forward(self, differences: Tensor, context: Tensor) -> Tensor:
        d, c = differences / self.scale, (context - self.context_mean) / self.context_scale
        ours, theirs = (self.outer(torch.tanh(self.inner(torch.cat([side, c], -1)))) for side in (d, -d))
        return torch.stack([ours[:, 0], theirs[:, 0], (ours[:, 1] + theirs[:, 1]) / 2], -1)


def _scale(value: Tensor) -> Tensor:
    """A feature that never varied in training has no scale; it is left as it is."""
    return torch.where(value > 1e-9, value, 1.0)


class LearnedEvidenceArbitrator:
    """Verdicts of a trained `PairPerceptron`, each with the features that decided it.

    Swapping a and b swaps the first two probabilities. Build it with `load`.
    """

    def __init__(self, model: PairPerceptron, *, ally: float = 0.5, description: Mapping[str, Any] | None = None) -> None:
        self.model, self.ally, self.description = model.eval(), ally, dict(description or {})

    @classmethod
    def load(cls, name: str | Path) -> LearnedEvidenceArbitrator:
        """A checkpoint folder, or a shipped checkpoint by name. Raises CheckpointError on a missing, foreign or damaged one."""
        checkpoint = load_checkpoint(name, kind=KIND)
        settings = checkpoint.config.settings
        try:
            model = PairPerceptron(tuple(settings["differences"]), tuple(settings["context"]), settings["hidden"])
            model.load_state_dict(checkpoint.head())
            ally = float(settings["ally"])
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"{checkpoint.path}: its settings and weights do not fit this version: {error}") from error
        return cls(model, ally=ally, description={"name": checkpoint.path.name, "files": checkpoint.config.files})

    def save(self, folder: str | Path, *, card: str, metrics: Mapping[str, Any], training: Mapping[str, Any]) -> Checkpoint:
        """Writes a checkpoint folder (`arbgraph.checkpoint.save_checkpoint`)."""
        settings = {
            "differences": list(self.model.differences),
            "context": list(self.model.context),
            "hidden": self.model.inner.out_features,
            "ally": self.ally,
        }
        config = CheckpointConfig(kind=KIND, features=(*self.model.differences, *self.model.context), settings=settings)
        return save_checkpoint(folder, config, head=self.model.state_dict(), card=card, metrics=metrics, training=training)

    def describe(self) -> dict[str, Any]:
        """Name and weight hashes of the checkpoint."""
        return dict(self.description)

    @torch.no_grad()
    def arbitrate(self, graph: EvidenceGraph, pairs: Tensor, support: Tensor, contradiction: Tensor) -> Verdicts:
        """Verdicts for all pairs at once, `[C, 3]` float64, each with its reason."""
        features = self.model.select(*pair_features(graph, pairs, support, contradiction, self.ally))
        probabilities = torch.softmax(self.model(*features), dim=-1)
        return Verdicts(probabilities, self._reasons(*features))

    def _reasons(self, differences: Tensor, context: Tensor) -> list[str]:
        """For every pair the features without which the better side would lose log-odds, heaviest first (occlusion)."""
        if not len(differences):
            return []
        logits = self.model(differences, context)
        margin = logits[:, 0] - logits[:, 1]
        sign = torch.where(margin >= 0, 1.0, -1.0).double()
        occluded = differences.repeat(differences.shape[1], 1, 1)
        columns = torch.arange(differences.shape[1])
        occluded[columns, :, columns] = 0
        without = torch.stack([(out := self.model(rows, context))[:, 0] - out[:, 1] for rows in occluded], -1)
        effect = (margin.unsqueeze(-1) - without) * sign.unsqueeze(-1)
        reasons = []
        for effects, values in zip(effect.tolist(), (differences * sign.unsqueeze(-1)).tolist(), strict=True):
            heavy = sorted(
                ((e, name, v) for e, name, v in zip(effects, self.model.differences, values, strict=True) if e > 0.1), reverse=True
            )
            reasons.append("; ".join(WORDS[name][0 if v >= 0 else 1] for _, name, v in heavy[:3]) or "nothing separates them")
        return reasons
