"""Gradual argumentation: the strength of an argument from its base score, its attackers and its supporters.

`final_strength` solves any directed graph; the classes apply it to evidence graphs, where both edge signs are symmetric, so that
every edge is a cycle of length two.

A semantics is an aggregation (one number alpha_i per argument, from the strengths s_j of attackers and supporters, each times its
edge weight c_ij) and an influence (how alpha_i moves the base score w_i).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.base import Arcs, Rival, Solution, fixed_point, groups_of
from arbgraph.propagation.edges import Edges

Semantics = Literal["dfquad", "squared_dfquad", "quadratic_energy", "euler", "euler_top", "mlp", "basic"]
Solver = Literal["damped", "rk4"]


def aggregate_sum(strength: Tensor, attack: Arcs, support: Arcs) -> Tensor:
    """alpha_i = sum_Sup c s - sum_Att c s."""
    return support.sum(strength) - attack.sum(strength)


def aggregate_product(strength: Tensor, attack: Arcs, support: Arcs) -> Tensor:
    """alpha_i = prod_Att (1 - c s) - prod_Sup (1 - c s), in [-1, 1]."""

    def left(arcs: Arcs) -> Tensor:
        factors = 1 - arcs.weight * strength[arcs.index[0]]
        return torch.ones_like(strength).scatter_reduce(0, arcs.index[1], factors, "prod")

    return left(attack) - left(support)


def aggregate_top(strength: Tensor, attack: Arcs, support: Arcs) -> Tensor:
    """alpha_i = max_Sup c s - max_Att c s, with 0 for no neighbour."""

    def best(arcs: Arcs) -> Tensor:
        values = arcs.weight * strength[arcs.index[0]]
        return torch.zeros_like(strength).scatter_reduce(0, arcs.index[1], values, "amax")

    return best(support) - best(attack)


def _toward_ends(base: Tensor, alpha: Tensor, h: Callable[[Tensor], Tensor]) -> Tensor:
    """w - w h(max(-alpha, 0)) + (1 - w) h(max(alpha, 0))."""
    return base - base * h(torch.relu(-alpha)) + (1 - base) * h(torch.relu(alpha))


def influence_linear(base: Tensor, alpha: Tensor) -> Tensor:
    """w + (1 - w) alpha for alpha >= 0, else w + w alpha."""
    return _toward_ends(base, alpha, lambda x: x)


def influence_one_max(base: Tensor, alpha: Tensor) -> Tensor:
    """h(x) = x / (1 + x)."""
    return _toward_ends(base, alpha, lambda x: x / (1 + x))


def influence_two_max(base: Tensor, alpha: Tensor) -> Tensor:
    """h(x) = x^2 / (1 + x^2)."""
    return _toward_ends(base, alpha, lambda x: x * x / (1 + x * x))


def influence_euler(base: Tensor, alpha: Tensor) -> Tensor:
    """1 - (1 - w^2) / (1 + w e^alpha), written with a sigmoid, which does not overflow."""
    return 1 - (1 - base * base) * torch.sigmoid(-(alpha + base.clamp(min=torch.finfo(base.dtype).tiny).log()))


def influence_mlp(base: Tensor, alpha: Tensor) -> Tensor:
    """sigmoid(logit(w) + alpha)."""
    return torch.sigmoid(torch.logit(base) + alpha)


def influence_basic(base: Tensor, alpha: Tensor) -> Tensor:
    """w + alpha; not bounded."""
    return base + alpha


SEMANTICS: dict[str, tuple[Callable[[Tensor, Arcs, Arcs], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    "dfquad": (aggregate_product, influence_linear),
    "squared_dfquad": (aggregate_product, influence_one_max),
    "quadratic_energy": (aggregate_sum, influence_two_max),
    "euler": (aggregate_sum, influence_euler),
    "euler_top": (aggregate_top, influence_euler),
    "mlp": (aggregate_sum, influence_mlp),
    "basic": (aggregate_sum, influence_basic),
}


def final_strength(
    base: Tensor,
    attack_index: Tensor,
    support_index: Tensor,
    attack_weight: Tensor | None = None,
    support_weight: Tensor | None = None,
    *,
    semantics: Semantics = "quadratic_energy",
    solver: Solver = "damped",
    damping: float | Tensor = 0.5,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    batch: Tensor | None = None,
    num_graphs: int = 1,
) -> Solution:
    """Final strengths of the arguments of one directed graph, or of a batch of them.

    An acyclic graph is solved exactly, one pass per layer. On a cyclic one the strengths follow ds/dt = f(s) - s from the base
    scores, where f is the influence of the aggregate: `damped` takes explicit Euler steps, s <- d s + (1 - d) f(s), and `rk4`
    Runge-Kutta steps of length 1 - d (damping 0.9 and tolerance 0.001 are the settings of Uncertainpy).

    Args:
        base: `[N]` base scores w in [0, 1]; for `mlp` in (0, 1). attack_index, support_index: `[2, A]`, `[2, S]` (from, to).
        attack_weight, support_weight: `[A]`, `[S]` edge weights c in [0, 1]; 1 by default. damping: d in [0, 1).
        tolerance: a cyclic graph has settled when a step moves no strength by `tolerance * (1 - d)` or more.
        batch: `[N]` graph number of every argument. num_graphs: B.

    Returns `Solution`; its p leaves [0, 1] for `basic` only. Arguments without attackers and supporters keep their base score.

    Raises ValueError on an unknown semantics or solver, a damping, base score or weight out of range, or an index out of range.

    Sources: Rago et al. 2016 (dfquad), Potyka 2018 (quadratic_energy, continuous dynamics), Amgoud and Ben-Naim 2018 (euler),
    Potyka 2021 (mlp), Potyka 2019 (modular semantics).
    """
    attack = Arcs(attack_index, base.new_ones(attack_index.shape[1]) if attack_weight is None else attack_weight)
    support = Arcs(support_index, base.new_ones(support_index.shape[1]) if support_weight is None else support_weight)
    _check_solver(solver, damping)
    _check(base, attack, support, semantics)
    group = torch.zeros(base.numel(), dtype=torch.long, device=base.device) if batch is None else batch
    aggregate, influence = SEMANTICS[semantics]
    incoming = torch.zeros_like(group).index_add(0, torch.cat([attack_index[1], support_index[1]]), _ones(attack, support)) > 0

    def target(strength: Tensor) -> Tensor:
        return torch.where(incoming, influence(base, aggregate(strength, attack, support)), base)

    def step(strength: Tensor) -> tuple[Tensor]:
        return (_advance(target, strength, 1 - damping, solver),)

    layers, acyclic = _layers(attack_index, support_index, group, num_graphs)
    strength = base
    for _ in range(int(layers[acyclic].max()) if acyclic.any() else 0):
        strength = torch.where(acyclic[group], target(strength), base)
    (strength,), iterations, converged = fixed_point(
        step,
        (strength,),
        (group,),
        num_graphs,
        max_iterations=max_iterations,
        tolerance=tolerance * (1 - float(torch.as_tensor(damping).detach())),
    )
    return Solution(strength, torch.where(acyclic, layers, iterations), acyclic | converged)


def _advance(target: Callable[[Tensor], Tensor], s: Tensor, length: float | Tensor, solver: Solver) -> Tensor:
    """One step of ds/dt = target(s) - s."""
    k1 = target(s) - s
    if solver == "damped":
        return s + length * k1
    middle = s + length / 2 * k1
    k2 = target(middle) - middle
    middle = s + length / 2 * k2
    k3 = target(middle) - middle
    end = s + length * k3
    k4 = target(end) - end
    return s + length / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _ones(attack: Arcs, support: Arcs) -> Tensor:
    return torch.ones(attack.weight.numel() + support.weight.numel(), dtype=torch.long, device=attack.index.device)


def _layers(attack_index: Tensor, support_index: Tensor, group: Tensor, graphs: int) -> tuple[Tensor, Tensor]:
    """Length of the longest path of every graph `[B]`, and whether it is acyclic `[B]`: sources are peeled off, layer by layer."""
    origin, end = torch.cat([attack_index, support_index], dim=1)
    left = torch.ones_like(group, dtype=torch.bool)
    layers = torch.zeros(graphs, dtype=torch.long, device=group.device)
    while True:
        entered = torch.zeros_like(group).index_add(0, end, left[origin].long()) > 0
        peeled = left & ~entered
        if not peeled.any():
            break
        left = left & ~peeled
        layers = layers + (torch.bincount(group[left], minlength=graphs) > 0)
    return layers, torch.bincount(group[left], minlength=graphs) == 0


def _check_solver(solver: str, damping: float | Tensor) -> None:
    if solver not in ("damped", "rk4"):
        raise ValueError(f"solver {solver!r} is not known; choose 'damped' or 'rk4'")
    if not 0 <= damping < 1:
        raise ValueError(f"damping is {float(damping)}; it lies in [0, 1)")


def _check(base: Tensor, attack: Arcs, support: Arcs, semantics: str) -> None:
    if semantics not in SEMANTICS:
        raise ValueError(f"semantics {semantics!r} is not known; choose one of {', '.join(SEMANTICS)}")
    inside = (base > 0) & (base < 1) if semantics == "mlp" else (base >= 0) & (base <= 1)
    if not inside.all():
        row = int((~inside).nonzero()[0])
        interval = "(0, 1)" if semantics == "mlp" else "[0, 1]"
        raise ValueError(f"base[{row}] is {float(base[row])}; a base score of {semantics} lies in {interval}")
    for name, arcs in (("attack", attack), ("support", support)):
        if not ((arcs.weight >= 0) & (arcs.weight <= 1)).all():
            raise ValueError(f"{name}_weight holds a value outside [0, 1]")
        if arcs.index.numel() and not 0 <= int(arcs.index.min()) <= int(arcs.index.max()) < base.numel():
            raise ValueError(f"{name}_index refers to an argument outside 0..{base.numel() - 1}")


class _Argumentation(Rival):
    """`final_strength` on evidence graphs: base w = prior; contradictions attack and support edges support, in both directions."""

    semantics: ClassVar[Semantics]
    learnable: ClassVar[Mapping[str, str]] = {"damping": "[0, 1)"}
    damping: nn.Parameter

    def __init__(self, *, damping: float = 0.5, solver: Solver = "damped", max_iterations: int = 500, **thresholds: Any) -> None:
        super().__init__(max_iterations=max_iterations, **thresholds)
        self.register_scalars(damping=damping)
        self.solver: Solver = solver
        _check_solver(solver, damping)

    def solve(self, graph: EvidenceGraph, edges: Edges) -> Solution:
        weight = self.weights(graph)
        attack = Arcs.both_ways(graph.pair_index, edges.contradiction, weight)
        support = Arcs.both_ways(graph.pair_index, edges.support, weight)
        batch, graphs = groups_of(graph)
        return final_strength(
            graph.prior,
            attack.index,
            support.index,
            attack.weight,
            support.weight,
            semantics=self.semantics,
            solver=self.solver,
            damping=self.damping,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            batch=batch,
            num_graphs=graphs,
        )


class DFQuAD(_Argumentation):
    r"""Discontinuity-free quantitative argumentation debates (Rago et al. 2016).

    .. math::
        \alpha_i = \prod_{j \in Att(i)} (1 - c_{ij} s_j) - \prod_{j \in Sup(i)} (1 - c_{ij} s_j), \qquad
        s_i = w_i + (1 - w_i) \max(\alpha_i, 0) - w_i \max(-\alpha_i, 0)

    with w the prior `[N]` and c the edge weight `[E]`. Plain iteration contracts if max_i d_i max(w_i, 1 - w_i) < 1, where d_i is
    the weighted degree; beyond that the damped iteration (damping 0.5) usually settles, and is flagged where it does not.

    Args: damping, solver: as in `final_strength`. The rest: `Rival`.
    """

    semantics = "dfquad"


class QuadraticEnergy(_Argumentation):
    r"""Quadratic energy model (Potyka 2018), also the semantics of ArgRAG.

    .. math::
        E_i = \sum_{j \in Sup(i)} c_{ij} s_j - \sum_{j \in Att(i)} c_{ij} s_j, \quad h(x) = \frac{\max(x, 0)^2}{1 + \max(x, 0)^2},
        \quad s_i = w_i - w_i h(-E_i) + (1 - w_i) h(E_i)

    with w the prior `[N]` and c the edge weight `[E]`. Plain iteration contracts if max_i d_i max(w_i, 1 - w_i) 0.6495 < 1: degree
    at most 3 at w = 0.5.

    Args: damping, solver: as in `final_strength`. The rest: `Rival`.
    """

    semantics = "quadratic_energy"


class EulerBased(_Argumentation):
    r"""Euler-based semantics (Amgoud and Ben-Naim 2018).

    .. math::
        s_i = 1 - \frac{1 - w_i^2}{1 + w_i e^{E_i}}, \qquad
        E_i = \sum_{j \in Sup(i)} c_{ij} s_j - \sum_{j \in Att(i)} c_{ij} s_j

    with w the prior `[N]` and c the edge weight `[E]`. Plain iteration contracts if max_i d_i (1 - w_i^2) / 4 < 1: degree at most 5
    at w = 0.5. Attacks never push s_i below w_i^2, so at w = 0.5 nothing falls under 0.25.

    Args: damping, solver: as in `final_strength`. The rest: `Rival`.
    """

    semantics = "euler"


class MLPBased(_Argumentation):
    r"""MLP-based semantics (Potyka 2021): the network whose neurons are the claims. Closest in form to Algorithm 1.

    .. math::
        s_i = \sigma(\mathrm{logit}(w_i) + E_i), \qquad E_i = \sum_{j \in Sup(i)} c_{ij} s_j - \sum_{j \in Att(i)} c_{ij} s_j

    with w the prior `[N]` and c the edge weight `[E]`. Plain iteration contracts if every weighted degree is under 4.

    Args: damping, solver: as in `final_strength`. The rest: `Rival`.
    """

    semantics = "mlp"
