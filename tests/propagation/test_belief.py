"""Mean field, "not both" belief propagation and signed PageRank against hand-worked values, enumeration and linear algebra."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.belief import MeanField, NotBothBeliefPropagation, SignedPageRank

F64 = torch.float64
SUPPORT, CONTRADICTION = (0.9, 0.06, 0.04), (0.06, 0.9, 0.04)


def evidence(prior, edges) -> EvidenceGraph:
    """Claims with priors, and edges {(a, b): relation}."""
    return EvidenceGraph.build(
        torch.tensor(prior, dtype=F64),
        torch.tensor(list(edges), dtype=torch.long).view(-1, 2).T.contiguous(),
        torch.tensor(list(edges.values()), dtype=F64).view(-1, 3),
    )


def test_mean_field_of_two_rivals():
    # m = 0.5 solves m = tanh(h - 0.5 m) for h = atanh(0.5) + 0.25; then p = 0.75, and the prior is sigmoid(2 h).
    prior = 1 / (1 + math.exp(-2 * (math.atanh(0.5) + 0.25)))
    trace = MeanField(edge_weight="one", tolerance=1e-10)(evidence([prior, prior], {(0, 1): CONTRADICTION}))
    assert trace.p.tolist() == pytest.approx([0.75, 0.75], abs=1e-8)
    assert trace.converged.all()


def test_mean_field_satisfies_its_equation():
    edges = {(0, 1): CONTRADICTION, (0, 2): SUPPORT, (1, 2): CONTRADICTION, (2, 3): SUPPORT}
    graph = evidence([0.7, 0.4, 0.5, 0.8], edges)
    m = 2 * MeanField(tolerance=1e-12)(graph).p - 1
    coupling = torch.zeros(4, 4, dtype=F64)
    for (a, b), relation in edges.items():
        coupling[a, b] = coupling[b, a] = 0.5 * 0.9 * (1 if relation is SUPPORT else -1)
    assert m.tolist() == pytest.approx(torch.tanh(torch.logit(graph.prior) / 2 + coupling @ m).tolist(), abs=1e-9)


def test_mean_field_moves_nothing_when_the_priors_say_nothing():
    assert MeanField()(evidence([0.5, 0.5], {(0, 1): CONTRADICTION})).p.tolist() == [0.5, 0.5]


def test_two_rivals_are_hardly_both_true():
    # e^-b = 1/4: weights 1, 1, 1, 1/4 of (0,0), (0,1), (1,0), (1,1), so p = 1.25 / 3.25.
    method = NotBothBeliefPropagation(contradiction_strength=math.log(4), edge_weight="one", tolerance=1e-12)
    assert method(evidence([0.5, 0.5], {(0, 1): CONTRADICTION})).p.tolist() == pytest.approx([1.25 / 3.25] * 2, abs=1e-9)


def test_a_supporter_shares_its_belief():
    # e^a = 3, priors 0.8 and 0.5: weights 0.3, 0.1, 0.4, 1.2 of (0,0), (0,1), (1,0), (1,1); p = (1.6, 1.3) / 2.
    method = NotBothBeliefPropagation(support_strength=math.log(3), edge_weight="one", tolerance=1e-12)
    assert method(evidence([0.8, 0.5], {(0, 1): SUPPORT})).p.tolist() == pytest.approx([0.8, 0.65], abs=1e-9)


@st.composite
def trees(draw):
    n = draw(st.integers(1, 7))
    prior = draw(st.lists(st.sampled_from([0.2, 0.4, 0.5, 0.7, 0.9]), min_size=n, max_size=n))
    edges = {(draw(st.integers(0, i - 1)), i): draw(st.sampled_from([SUPPORT, CONTRADICTION])) for i in range(1, n)}
    return prior, edges


@settings(deadline=None, max_examples=40)
@given(trees())
def test_belief_propagation_is_exact_on_trees(case):
    prior, edges = case
    trace = NotBothBeliefPropagation(support_strength=1.5, contradiction_strength=3.0, max_iterations=400, tolerance=1e-12)(
        evidence(prior, edges)
    )
    total, true = 0.0, [0.0] * len(prior)
    for state in itertools.product((0, 1), repeat=len(prior)):
        weight = math.prod(w if x else 1 - w for w, x in zip(prior, state, strict=True))
        for (a, b), relation in edges.items():
            if relation is SUPPORT:
                weight *= math.exp(1.5 * 0.9 * (state[a] == state[b]))
            else:
                weight *= math.exp(-3.0 * 0.9 * (state[a] and state[b]))
        total += weight
        true = [t + weight * x for t, x in zip(true, state, strict=True)]
    assert trace.converged.all()
    assert trace.p.tolist() == pytest.approx([t / total for t in true], abs=1e-9)


def test_signed_pagerank_of_two_rivals():
    # r = d w - (1 - d) r, so r / d = 0.5 / 1.85, and p = sigmoid(0.5 / 1.85 - 0.5).
    trace = SignedPageRank(tolerance=1e-10)(evidence([0.5, 0.5], {(0, 1): CONTRADICTION}))
    assert trace.p.tolist() == pytest.approx([1 / (1 + math.exp(0.5 - 0.5 / 1.85))] * 2, abs=1e-8)


def test_signed_pagerank_solves_its_linear_system():
    edges = {(0, 1): CONTRADICTION, (0, 2): SUPPORT, (1, 2): CONTRADICTION, (2, 3): (0.7, 0.2, 0.1)}
    graph = evidence([0.7, 0.4, 0.5, 0.8, 0.3], edges)
    a = torch.zeros(5, 5, dtype=F64)
    for (i, j), relation in edges.items():
        a[i, j] = a[j, i] = -0.9 if relation is CONTRADICTION else max(relation)
    root = a.abs().sum(0).clamp(min=1e-300).rsqrt()
    root[4] = 0
    rank = torch.linalg.solve(torch.eye(5, dtype=F64) - 0.7 * root[:, None] * a * root, 0.3 * graph.prior)
    expected = torch.sigmoid(torch.logit(graph.prior) + rank / 0.3 - graph.prior)
    assert SignedPageRank(restart=0.3, tolerance=1e-12)(graph).p.tolist() == pytest.approx(expected.tolist(), abs=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MeanField(damping=1.0), "damping is 1.0"),
        (lambda: NotBothBeliefPropagation(support_strength=-1.0), "support_strength is -1.0; it lies in"),
        (lambda: SignedPageRank(restart=0.0), "restart is 0.0"),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()
