"""What can be learned by name in every propagation, and the relaxed support cap."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation import PROPAGATIONS, propagation_class
from arbgraph.propagation.belief import MeanField
from arbgraph.propagation.credibility import LEARNABLE, CredibilityPropagation
from arbgraph.settings import load_settings
from tests.propagation.test_family import random_graph

DOUBLE = torch.float64
# (method, scalar) of every rival; the layer itself has its own test.
SCALARS = [(name, scalar) for name in sorted(PROPAGATIONS) if name != "arbgraph" for scalar in propagation_class(name).learnable]
CAP = {"tau_q": -1.0, "tau_sim": -1.0, "tau_conf": 0.0, "coupling": 0.3}


def as_function(layer, name):
    """`layer(graph)` as a function of one of its scalars, as gradcheck wants it."""

    def output(value, graph):
        layer._parameters.pop(name, None)
        object.__setattr__(layer, name, value)
        return layer(graph)

    return output


@pytest.mark.parametrize(("name", "scalar"), SCALARS)
def test_gradients_of_every_learnable_scalar_of_a_rival(name, scalar):
    """Through a fixed number of iterations, against finite differences."""
    graph = random_graph(7, 9)
    method = propagation_class(name)(max_iterations=6, tolerance=0.0, learn=[scalar], support_cap=100)
    output = as_function(method, scalar)
    start = getattr(method, scalar).detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda value: output(value, graph).p, (start,), atol=1e-5)


def test_which_scalars_matter():
    """Every scalar moves the scores: none is a decoy."""
    assert len(SCALARS) == 21
    for name, scalar in SCALARS:
        method = propagation_class(name)(max_iterations=6, tolerance=0.0, learn=[scalar], edge_weight="confidence", support_cap=100)
        method(random_graph(7, 9)).p.square().sum().backward()
        assert getattr(method, scalar).grad != 0, (name, scalar)


@pytest.mark.parametrize("name", sorted(PROPAGATIONS))
def test_nothing_is_learned_by_default_and_names_are_checked(name):
    method = propagation_class(name)()
    assert not any(parameter.requires_grad for parameter in method.parameters())
    with pytest.raises(ValueError, match=r"learnable parameter 'eta' is not known; (choose one of|\w+ has none)"):
        propagation_class(name)(learn=["eta"])


@pytest.mark.parametrize("name", sorted(PROPAGATIONS))
def test_settings_reach_every_method(name):
    method = propagation_class(name).from_settings(load_settings("default", tau_sim=0.9, support_cap=7))
    assert (method.tau_sim.item(), method.support_cap) == (0.9, 7)
    assert "0.9" in repr(method) or name == "arbgraph"


def test_intervals_are_checked_and_restored():
    with pytest.raises(ValueError, match=r"damping is 1.0; it lies in \[0, 1\)"):
        MeanField(damping=1.0)
    with pytest.raises(ValueError, match=r"step_size is -0.1; it lies in \[0, inf\)"):
        CredibilityPropagation(step_size=-0.1)
    with pytest.raises(ValueError, match="tau_accept is nan"):
        CredibilityPropagation(tau_accept=float("nan"))
    method = MeanField(learn=["damping", "support_strength"], contradiction_strength=0.0)
    with torch.no_grad():
        method.damping.fill_(1.7)
        method.support_strength.fill_(-3.0)
    method.project()
    assert method.damping.item() == pytest.approx(1 - 1e-6)
    assert method.support_strength.item() == pytest.approx(1e-6)
    assert method.contradiction_strength.item() == 0, "what is not learned stays as given"


def test_a_rival_learns_what_it_is_shown():
    """Two rivals, one with the stronger prior: belief propagation learns how strongly they exclude each other."""
    graph = EvidenceGraph.build(
        torch.tensor([0.7, 0.5], dtype=DOUBLE), torch.tensor([[0], [1]]), torch.tensor([[0.0, 1.0, 0.0]], dtype=DOUBLE)
    )
    with torch.no_grad():
        target = propagation_class("not_both")(contradiction_strength=3.0)(graph).p
    method = propagation_class("not_both")(contradiction_strength=1.0, learn=["contradiction_strength"])
    optimiser = torch.optim.LBFGS(method.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = 100 * (method(graph).p - target).square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    assert method.contradiction_strength.item() == pytest.approx(3.0, abs=1e-2)


# The support cap


def supports(seed: int, n: int = 7, pairs: int = 12, tied: bool = False) -> EvidenceGraph:
    """Claims that support each other, with a few contradictions; with `tied`, all similarities are equal."""
    rng = torch.Generator().manual_seed(seed)
    every = torch.combinations(torch.arange(n))
    chosen = every[torch.randperm(len(every), generator=rng)[:pairs].sort().values].T.contiguous()
    kind = torch.tensor([[0.8, 0.15, 0.05], [0.1, 0.85, 0.05]], dtype=DOUBLE)
    return EvidenceGraph.build(
        0.2 + 0.6 * torch.rand(n, generator=rng, dtype=DOUBLE),
        chosen,
        kind[(torch.rand(pairs, generator=rng) < 0.2).long()],
        similarity=torch.full((pairs,), 0.8, dtype=DOUBLE) if tied else torch.rand(pairs, generator=rng, dtype=DOUBLE),
        verdict=torch.tensor([[0.7, 0.2, 0.1]], dtype=DOUBLE).repeat(pairs, 1),
    )


@given(seed=st.integers(0, 10**6), cap=st.integers(0, 6), scope=st.sampled_from(["graph", "node"]), tied=st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_soft_cap_is_the_cap_in_the_limit(seed, cap, scope, tied):
    graph = supports(seed, tied=tied)
    # Closer similarities than the slope that separates ties would be taken for tied.
    assume(tied or graph.similarity.sort().values.diff().min() > 2e-4)
    options = {**CAP, "support_cap": cap, "support_cap_scope": scope, "budget": None}
    exact = CredibilityPropagation(**options)(graph)
    soft = CredibilityPropagation(**options, mode="soft", temperature=1e-7)(graph)
    torch.testing.assert_close(soft.s, exact.s, atol=1e-9, rtol=0)


@pytest.mark.parametrize("scope", ["graph", "node"])
def test_gradients_reach_the_similarities_around_the_cap(scope):
    def grown(graph, soft_cap):
        layer = CredibilityPropagation(
            **CAP, rounds=1, support_cap=2, support_cap_scope=scope, soft_cap=soft_cap, mode="soft", temperature=0.2, gate="hard_sigmoid"
        )
        graph.similarity = graph.similarity.clone().requires_grad_()
        layer(graph).s.square().sum().backward()
        return graph.similarity.grad

    # All far above tau_sim, so that only the cap can make a similarity matter.
    relaxed, hard = grown(supports(5), True), grown(supports(5), False)
    assert relaxed.abs().max() > 1e-4
    assert hard is None or hard.abs().max() == 0


@pytest.mark.parametrize("scope", ["graph", "node"])
@pytest.mark.parametrize("selection", ["fermi", "capped_simplex"])
def test_gradients_of_the_soft_cap(scope, selection):
    graph = supports(11)
    layer = CredibilityPropagation(
        **CAP, rounds=1, support_cap=2, support_cap_scope=scope, mode="soft", gate="sigmoid", selection=selection, temperature=0.7
    )

    def output(similarity):
        changed = graph.clone()
        changed.similarity = similarity
        return layer(changed).s

    assert torch.autograd.gradcheck(output, (graph.similarity.clone().requires_grad_(),), atol=1e-5)


def test_all_learnable_names_of_the_layer_are_constructor_arguments():
    layer = CredibilityPropagation(learn=list(LEARNABLE))
    assert {name for name, _ in layer.named_parameters()} == set(LEARNABLE)
    assert all(parameter.requires_grad for parameter in layer.parameters())
