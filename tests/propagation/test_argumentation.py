"""Gradual argumentation against hand-worked values, a recursive re-implementation and published strengths."""

from __future__ import annotations

import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.argumentation import SEMANTICS, DFQuAD, EulerBased, MLPBased, QuadraticEnergy, final_strength

F64 = torch.float64
SEMANTICS_OF = {
    "DFQuAD": "dfquad",
    "SquaredDFQuAD": "squared_dfquad",
    "QuadraticEnergy": "quadratic_energy",
    "EulerBased": "euler",
    "EulerBasedTop": "euler_top",
    "basic": "basic",
}


def arrows(pairs) -> torch.Tensor:
    return torch.tensor(list(pairs), dtype=torch.long).view(-1, 2).T


def pair_graph(prior: float, relation: tuple[float, float, float]) -> EvidenceGraph:
    return EvidenceGraph.build(torch.full((2,), prior, dtype=F64), arrows([(0, 1)]), torch.tensor([relation], dtype=F64))


# Argument 0 (base 0.5) is attacked by 1 (0.8) and 3 (0.2) and supported by 2 (0.4).
# sum: 0.4 - 1.0 = -0.6. product: 0.2 * 0.8 - 0.6 = -0.44. top: 0.4 - 0.8 = -0.4.
STAR = {
    "dfquad": 0.28,  # 0.5 - 0.5 * 0.44
    "squared_dfquad": 0.5 - 0.5 * 0.44 / 1.44,
    "quadratic_energy": 0.5 - 0.5 * 0.36 / 1.36,
    "euler": 1 - 0.75 / (1 + 0.5 * math.exp(-0.6)),
    "euler_top": 1 - 0.75 / (1 + 0.5 * math.exp(-0.4)),
    "mlp": 1 / (1 + math.exp(0.6)),
    "basic": -0.1,
}


@pytest.mark.parametrize("semantics", sorted(SEMANTICS))
def test_star(semantics):
    base = torch.tensor([0.5, 0.8, 0.4, 0.2], dtype=F64)
    solved = final_strength(base, arrows([(1, 0), (3, 0)]), arrows([(2, 0)]), semantics=semantics)
    assert solved.p.tolist() == pytest.approx([STAR[semantics], 0.8, 0.4, 0.2], abs=1e-12)
    assert solved.converged.tolist() == [True]
    assert solved.iterations.tolist() == [1]


def test_a_weight_multiplies_the_strength_of_the_neighbour():
    # DF-QuAD: (1 - 0.5 * 0.8) - (1 - 0.25 * 0.4) = 0.6 - 0.9 = -0.3, so 0.5 - 0.5 * 0.3.
    base = torch.tensor([0.5, 0.8, 0.4], dtype=F64)
    half, quarter = torch.tensor([0.5], dtype=F64), torch.tensor([0.25], dtype=F64)
    solved = final_strength(base, arrows([(1, 0)]), arrows([(2, 0)]), half, quarter, semantics="dfquad")
    assert float(solved.p[0]) == pytest.approx(0.35, abs=1e-12)


def test_a_chain_takes_one_pass_per_layer():
    # 3 attacks 2 attacks 1 attacks 0; DF-QuAD with base 0.5: 0.5, 0.25, 0.375, 0.3125.
    solved = final_strength(torch.full((4,), 0.5, dtype=F64), arrows([(3, 2), (2, 1), (1, 0)]), arrows([]), semantics="dfquad")
    assert solved.p.tolist() == [0.3125, 0.375, 0.25, 0.5]
    assert solved.iterations.tolist() == [3]


# Two rivals at base 0.5, weight 1, in each other's way: the fixed point s of the influence.
@pytest.mark.parametrize(
    ("method", "strength"),
    [
        (DFQuAD, 1 / 3),  # s = 0.5 (1 - s)
        (QuadraticEnergy, 0.423854),  # s = 0.5 / (1 + s^2), that is s^3 + s = 0.5
        (EulerBased, 0.433575),  # s = 1 - 0.75 / (1 + 0.5 e^-s)
        (MLPBased, 0.401058),  # s = 1 / (1 + e^s)
    ],
)
def test_two_rivals(method, strength):
    trace = method(edge_weight="one", tolerance=1e-9)(pair_graph(0.5, (0.05, 0.9, 0.05)))
    assert trace.p.tolist() == pytest.approx([strength, strength], abs=1e-6)
    assert trace.s.tolist() == pytest.approx([math.log(strength / (1 - strength))] * 2, abs=1e-5)
    assert trace.accepted.tolist() == [True, True]
    assert trace.converged.tolist() == [True]


def test_edges_weigh_as_much_as_the_verifier_is_sure():
    # DF-QuAD with c = 0.9: s = 0.5 (1 - 0.9 s) = 0.5 / 1.45; support: s = 0.5 + 0.45 s = 0.5 / 0.55.
    method = DFQuAD(tolerance=1e-10)
    assert method(pair_graph(0.5, (0.05, 0.9, 0.05))).p.tolist() == pytest.approx([0.5 / 1.45] * 2, abs=1e-8)
    assert method(pair_graph(0.5, (0.9, 0.05, 0.05))).p.tolist() == pytest.approx([0.5 / 0.55] * 2, abs=1e-8)


def test_both_solvers_reach_the_same_fixed_point():
    graph = pair_graph(0.7, (0.05, 0.9, 0.05))
    damped, rk4 = (QuadraticEnergy(solver=solver, tolerance=1e-9)(graph).p for solver in ("damped", "rk4"))
    assert damped.tolist() == pytest.approx(rk4.tolist(), abs=1e-8)


def test_euler_does_not_overflow_under_many_supports():
    star = EvidenceGraph.build(
        torch.full((3001,), 0.5, dtype=F64),
        torch.stack([torch.zeros(3000, dtype=torch.long), torch.arange(1, 3001)]),
        torch.tensor([[0.9, 0.05, 0.05]], dtype=F64).repeat(3000, 1),
    )
    star.prior.requires_grad_()
    trace = EulerBased(support_cap=5000)(star)
    assert trace.p[0].item() == pytest.approx(1, abs=1e-6)
    assert torch.isfinite(trace.s).all()
    trace.p.sum().backward()
    assert torch.isfinite(star.prior.grad).all()


# A recursive, plain-Python solution of acyclic graphs


def recursive(base, attacks, supports, semantics):
    def influence(w, alpha):
        h = {"dfquad": lambda x: x, "squared_dfquad": lambda x: x / (1 + x), "quadratic_energy": lambda x: x * x / (1 + x * x)}
        if semantics in h:
            return w + (1 - w) * h[semantics](alpha) if alpha >= 0 else w - w * h[semantics](-alpha)
        if semantics == "mlp":
            return 1 / (1 + (1 - w) / w * math.exp(-alpha))
        return w + alpha if semantics == "basic" else 1 - (1 - w * w) / (1 + w * math.exp(alpha))

    def strength(i):
        att = [strength(j) for j, k in attacks if k == i]
        sup = [strength(j) for j, k in supports if k == i]
        if not att and not sup:
            return base[i]
        if "dfquad" in semantics:
            alpha = math.prod(1 - s for s in att) - math.prod(1 - s for s in sup)
        elif semantics == "euler_top":
            alpha = max(sup, default=0) - max(att, default=0)
        else:
            alpha = sum(sup) - sum(att)
        return influence(base[i], alpha)

    return [strength(i) for i in range(len(base))]


@st.composite
def acyclic(draw):
    n = draw(st.integers(1, 7))
    base = draw(st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.8, 0.95]), min_size=n, max_size=n))
    candidates = [(j, i) for i in range(n) for j in range(i + 1, n)]
    chosen = draw(st.lists(st.sampled_from(candidates), unique=True, max_size=12)) if candidates else []
    cut = draw(st.integers(0, len(chosen)))
    return base, chosen[:cut], chosen[cut:]


@settings(deadline=None, max_examples=60)
@given(acyclic(), st.sampled_from(sorted(SEMANTICS)))
def test_acyclic_graphs_equal_the_recursion(case, semantics):
    base, attacks, supports = case
    solved = final_strength(torch.tensor(base, dtype=F64), arrows(attacks), arrows(supports), semantics=semantics)
    # basic strengths are not bounded, so they may be large; the others lie in [0, 1].
    assert solved.p.tolist() == pytest.approx(recursive(base, attacks, supports, semantics), rel=1e-9, abs=1e-12)
    assert solved.converged.all()


def test_a_batch_of_acyclic_and_cyclic_graphs_gives_each_what_it_has_alone():
    chain = (torch.full((3,), 0.5, dtype=F64), arrows([(2, 1), (1, 0)]), arrows([]))
    loop = (torch.tensor([0.9, 0.4], dtype=F64), arrows([(0, 1), (1, 0)]), arrows([]))
    alone = [final_strength(*graph) for graph in (chain, loop)]
    together = final_strength(
        torch.cat([chain[0], loop[0]]),
        torch.cat([chain[1], loop[1] + 3], dim=1),
        arrows([]),
        batch=torch.tensor([0, 0, 0, 1, 1]),
        num_graphs=2,
    )
    assert torch.equal(together.p, torch.cat([a.p for a in alone]))
    assert torch.equal(together.iterations, torch.cat([a.iterations for a in alone]))


def test_a_loop_that_never_settles_is_flagged():
    # basic: s = 0.5 + s grows by one step for ever.
    solved = final_strength(torch.tensor([0.5, 0.5], dtype=F64), arrows([]), arrows([(0, 1), (1, 0)]), semantics="basic")
    assert solved.converged.tolist() == [False]
    assert solved.iterations.tolist() == [500]


@pytest.mark.parametrize("semantics", ["dfquad", "squared_dfquad", "quadratic_energy", "euler", "mlp"])
def test_gradients_of_the_unrolled_iteration(semantics):
    base = torch.tensor([0.3, 0.6, 0.7, 0.45], dtype=F64, requires_grad=True)
    weight = torch.tensor([0.9, 0.8, 0.7], dtype=F64, requires_grad=True)

    def strengths(base, weight):
        # 30 iterations and no tolerance, so that the number of iterations does not depend on the values.
        return final_strength(
            base,
            arrows([(0, 1), (1, 0), (3, 2)]),
            arrows([(1, 2), (2, 3)]),
            weight,
            semantics=semantics,
            max_iterations=30,
            tolerance=0.0,
        ).p

    assert torch.autograd.gradcheck(strengths, (base, weight))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"semantics": "quadratic"}, "semantics 'quadratic' is not known"),
        ({"solver": "euler"}, "solver 'euler' is not known"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"base": torch.tensor([0.5, 1.2])}, r"base\[1\] is 1.2"),
        ({"base": torch.tensor([0.5, float("nan")])}, r"base\[1\] is nan"),
        ({"base": torch.tensor([0.5, 1.0]), "semantics": "mlp"}, r"base score of mlp lies in \(0, 1\)"),
        ({"attack_index": arrows([(0, 2)])}, "attack_index refers to an argument outside 0..1"),
        ({"attack_weight": torch.tensor([-0.5])}, "attack_weight holds a value outside"),
    ],
)
def test_bad_input(change, message):
    good = {"base": torch.tensor([0.5, 0.5]), "attack_index": arrows([(0, 1)]), "support_index": arrows([])}
    with pytest.raises(ValueError, match=message):
        final_strength(**{**good, **change})


def test_published_strengths(oracle_data):
    graphs = json.loads((oracle_data("qbaf_oracle") / "graphs.json").read_text(encoding="utf-8"))
    checked = 0
    for graph in graphs:
        names = {name: number for number, name in enumerate(graph["base_scores"])}
        solved = final_strength(
            torch.tensor(list(graph["base_scores"].values()), dtype=F64),
            arrows((names[a], names[b]) for a, b in graph["attacks"]),
            arrows((names[a], names[b]) for a, b in graph["supports"]),
            semantics=SEMANTICS_OF[graph["semantics"]],
            solver="rk4",
            damping=0.9,
            tolerance=0.001,
        )
        assert solved.converged.all(), graph["id"]
        # The cyclic values were computed with the same solver and settings, so that they agree far beyond their tolerance.
        tolerance = 1e-12 if graph["cyclic"] else graph["tolerance"]
        for name, value in graph["expected"].items():
            assert float(solved.p[names[name]]) == pytest.approx(value, abs=tolerance), (graph["id"], name)
            checked += 1
    assert checked == 94
