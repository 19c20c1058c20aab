"""Probabilistic and spectral propagations on the signed graph: mean field, "not both" belief propagation, signed PageRank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.base import Arcs, Rival, Solution, fixed_point, groups_of, ratio
from arbgraph.propagation.edges import Edges


class _Signed(Rival):
    """Common to the methods of this module: strengths a (support) and b (contradiction) that multiply the edge weights."""

    learnable: ClassVar[Mapping[str, str]] = {"support_strength": "[0, inf)", "contradiction_strength": "[0, inf)"}
    support_strength: nn.Parameter
    contradiction_strength: nn.Parameter

    def __init__(self, *, support_strength: float, contradiction_strength: float, **options: Any) -> None:
        super().__init__(**options)
        self.register_scalars(support_strength=support_strength, contradiction_strength=contradiction_strength)

    def coupling(self, graph: EvidenceGraph, edges: Edges) -> Arcs:
        """Arcs both ways with weight +a c on support and -b c on contradiction."""
        sign = self.support_strength * edges.support.to(graph.prior.dtype)
        sign = sign - self.contradiction_strength * edges.contradiction.to(graph.prior.dtype)
        return Arcs.both_ways(graph.pair_index, edges.support | edges.contradiction, sign * self.weights(graph))


class MeanField(_Signed):
    r"""Mean field of an Ising model over claims that are true (+1) or false (-1).

    .. math:: m_i = \tanh\Big(h_i + \sum_j J_{ij} m_j\Big), \quad h_i = \mathrm{logit}(w_i) / 2, \quad p_i = (1 + m_i) / 2

    with w the prior `[N]`, J = +a c on support, -b c on contradiction, a = `support_strength`, b = `contradiction_strength`, c the
    edge weight. Every step keeps the share `damping` of the old m. Contracts if max_i sum_j |J_ij| < 1. With all priors at 0.5
    every m stays at 0: the method only spreads what the priors say. J punishes two false rivals as much as two true ones
    (`NotBothBeliefPropagation` does not).
    """

    learnable: ClassVar[Mapping[str, str]] = {**_Signed.learnable, "damping": "[0, 1)"}
    damping: nn.Parameter

    def __init__(self, *, support_strength: float = 0.5, contradiction_strength: float = 0.5, damping: float = 0.5, **options: Any) -> None:
        super().__init__(support_strength=support_strength, contradiction_strength=contradiction_strength, **options)
        self.register_scalars(damping=damping)

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        arcs, field = self.coupling(graph, edges), torch.logit(graph.prior) / 2
        batch, graphs = groups_of(graph)

        def step(m: Tensor) -> tuple[Tensor]:
            return (self.damping * m + (1 - self.damping) * torch.tanh(field + arcs.sum(m)),)

        (m,), iterations, converged = fixed_point(
            step, (torch.tanh(field),), (batch,), graphs, max_iterations=self.max_iterations, tolerance=self.tolerance
        )
        return Solution((1 + m) / 2, iterations, converged)


class NotBothBeliefPropagation(_Signed):
    r"""Sum-product belief propagation on a factor graph where two rivals may be both false, but hardly both true.

    Claims are 0 or 1 with odds w / (1 - w). A contradiction is the factor e^{-b c} on (1, 1), else 1; a support edge the factor
    e^{a c} on equal values, else 1. With log-odds messages from claim i to j, over one edge:

    .. math::
        \nu_{i \to j} = \mathrm{logit}(w_i) + \sum_{k \ne j} \mu_{k \to i}, \qquad
        \mu^{con}_{i \to j} = \ln \frac{1 + e^{\nu - b c}}{1 + e^{\nu}}, \qquad
        \mu^{sup}_{i \to j} = \ln \frac{1 + e^{\nu + a c}}{e^{a c} + e^{\nu}}, \qquad
        p_i = \sigma\Big(\mathrm{logit}(w_i) + \sum_k \mu_{k \to i}\Big)

    with w the prior `[N]`, a = `support_strength`, b = `contradiction_strength`, c the edge weight. Every step keeps the share
    `damping` of the old messages; 50 iterations. Exact on graphs without cycles; no general convergence on others, only the flag.
    """

    learnable: ClassVar[Mapping[str, str]] = {**_Signed.learnable, "damping": "[0, 1)"}
    damping: nn.Parameter

    def __init__(
        self,
        *,
        support_strength: float = 1.0,
        contradiction_strength: float = 2.0,
        damping: float = 0.5,
        max_iterations: int = 50,
        **options: Any,
    ) -> None:
        super().__init__(
            support_strength=support_strength,
            contradiction_strength=contradiction_strength,
            max_iterations=max_iterations,
            **options,
        )
        self.register_scalars(damping=damping)

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        arcs, prior = self.coupling(graph, edges), torch.logit(graph.prior)
        origin, end = arcs.index
        batch, graphs = groups_of(graph)

        def belief(message: Tensor) -> Tensor:
            return prior.index_add(0, end, message)

        def step(message: Tensor) -> tuple[Tensor]:
            # The two arcs of a pair lie half the length apart, so a roll gives the message of the opposite arc.
            outgoing = belief(message)[origin] - message.roll(message.numel() // 2)
            return (self.damping * message + (1 - self.damping) * _through_factor(outgoing, arcs.weight),)

        start = torch.zeros_like(arcs.weight)
        (message,), iterations, converged = fixed_point(
            step, (start,), (batch[end],), graphs, max_iterations=self.max_iterations, tolerance=self.tolerance
        )
        return Solution(torch.sigmoid(belief(message)), iterations, converged)


def _through_factor(outgoing: Tensor, weight: Tensor) -> Tensor:
    """Message behind a factor: support where the weight is positive, contradiction where it is negative."""

    def softplus(x: Tensor) -> Tensor:  # torch's own is linear above 20, which costs digits
        return -logsigmoid(-x)

    attract = weight.clamp(min=0)
    agreement = softplus(outgoing + attract) - softplus(outgoing - attract) - attract
    return torch.where(weight > 0, agreement, softplus(outgoing + weight) - softplus(outgoing))


class SignedPageRank(_Signed):
    r"""PageRank with signed links: support passes rank on, contradiction takes it away.

    .. math::
        r = d\,w + (1 - d)\, D^{-1/2} A D^{-1/2} r, \quad D_{ii} = \sum_j |A_{ij}|, \quad
        p_i = \sigma\big(\mathrm{logit}(w_i) + r_i / d - w_i\big)

    with w the prior `[N]`, d = `restart`, A = +a c on support, -b c on contradiction, a = `support_strength`,
    b = `contradiction_strength`, c the edge weight. The spectral radius is at most 1 - d, so the iteration converges for d > 0.
    The map to p is ours: r / d - w is what the neighbours add to a claim's own rank, so an isolated claim keeps its prior.
    """

    learnable: ClassVar[Mapping[str, str]] = {**_Signed.learnable, "restart": "(0, 1]"}
    restart: nn.Parameter

    def __init__(
        self, *, restart: float = 0.15, support_strength: float = 1.0, contradiction_strength: float = 1.0, **options: Any
    ) -> None:
        super().__init__(support_strength=support_strength, contradiction_strength=contradiction_strength, **options)
        self.register_scalars(restart=restart)

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        arcs, prior = self.coupling(graph, edges), graph.prior
        degree = Arcs(arcs.index, arcs.weight.abs()).sum(torch.ones_like(prior))
        linked = degree > 0
        scale = ratio(torch.ones_like(degree), torch.where(linked, degree, 1).sqrt())
        normal = Arcs(arcs.index, arcs.weight * scale[arcs.index[0]] * scale[arcs.index[1]])
        batch, graphs = groups_of(graph)
        own = self.restart * prior
        (rank,), iterations, converged = fixed_point(
            lambda r: (own + (1 - self.restart) * normal.sum(r),),
            (own,),
            (batch,),
            graphs,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
        )
        return Solution(torch.sigmoid(torch.logit(prior) + (rank - own) / self.restart), iterations, converged)
