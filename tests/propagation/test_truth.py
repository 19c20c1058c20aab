"""Truth discovery against hand-worked iterations and the outputs of an independent implementation."""

from __future__ import annotations

import csv
import gzip
import json
import math
from functools import partial

import pytest
import torch

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation import truth
from arbgraph.propagation.base import Arcs
from arbgraph.propagation.truth import Links, find_facts, find_truth, share

F64 = torch.float64

# Two items. Item 1: claim 0 by sources 0 and 1, claim 1 by source 2. Item 2: claim 2 by source 0, claim 3 by source 2.
CLAIM, SOURCE = torch.tensor([0, 0, 1, 2, 3]), torch.tensor([0, 1, 2, 0, 2])
LINKS = Links.single(CLAIM, SOURCE, 4, 3)
RIVALS = Arcs(torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), torch.ones(4, dtype=F64))
HALF, ONE = torch.full((4,), 0.5, dtype=F64), torch.ones(3, dtype=F64)


def numbers(values):
    return pytest.approx(values, abs=1e-12)


def evidence(**options) -> EvidenceGraph:
    """The two items as an evidence graph."""
    conflict = torch.tensor([[0.05, 0.9, 0.05]], dtype=F64).repeat(2, 1)
    return EvidenceGraph.build(
        torch.full((4,), 0.4, dtype=F64),
        torch.tensor([[0, 2], [1, 3]]),
        conflict,
        source_index=torch.stack([CLAIM, SOURCE]),
        num_sources=3,
        **options,
    )


def facts(update, belief, iterations):
    (trust, belief), used, _ = find_facts(update, belief, LINKS, max_iterations=iterations, tolerance=0.0)
    assert used.tolist() == [iterations]
    return trust.tolist(), belief.tolist()


def test_sums():
    # T = (1, 0.5, 1), B = (1.5, 1, 1, 1), so B = (1, 2/3, 2/3, 2/3); then T = (5/3, 1, 4/3), B = (8/3, 4/3, 5/3, 4/3).
    update = partial(truth.sums_update, links=LINKS)
    assert facts(update, HALF, 1) == (numbers([1, 0.5, 1]), numbers([1, 2 / 3, 2 / 3, 2 / 3]))
    assert facts(update, HALF, 2) == (numbers([1, 0.6, 0.8]), numbers([1, 0.5, 0.625, 0.5]))


def test_average_log_as_published_gives_a_source_with_one_claim_no_trust():
    # n = (2, 1, 2): T = (ln 2 / 2, 0, ln 2 / 2).
    update = partial(truth.average_log_update, links=LINKS, log_offset=0.0)
    assert facts(update, HALF, 1) == (numbers([1, 0, 1]), numbers([1, 1, 1, 1]))


def test_average_log_with_an_offset():
    # T = (ln 3 / 2, ln 2 / 2, ln 3 / 2).
    low = math.log(2) / math.log(3)
    update = partial(truth.average_log_update, links=LINKS)
    assert facts(update, HALF, 1) == (numbers([1, low, 1]), numbers([1] + [1 / (1 + low)] * 3))


def test_investment():
    # B = (2/3, 1/3, 1/2, 1/2), a = (1/2, 1, 1/2), invested in the claims 3/2, 1/2, 1/2, 1/2.
    # T = (1/2 (4/9 + 1), 4/9, 1/2 (2/3 + 1)) = (13, 8, 15) / 18; T / n = (13, 16, 15) / 36; sums (29, 15, 13, 15) / 36.
    belief = share(LINKS.votes(F64), RIVALS)
    assert belief.tolist() == numbers([2 / 3, 1 / 3, 1 / 2, 1 / 2])
    squared = facts(partial(truth.investment_update, links=LINKS, exponent=2.0), belief, 1)
    assert squared == (numbers([13 / 15, 8 / 15, 1]), numbers([1, (15 / 29) ** 2, (13 / 29) ** 2, (15 / 29) ** 2]))


def test_pooled_investment():
    # B = 1/2, a = (1/2, 1, 1/2): T = (1/2 (1/3 + 1), 1/3, 1/2 (1 + 1)) = (2/3, 1/3, 1); T / n = (1/3, 1/3, 1/2).
    # H = (2/3, 1/2, 1/3, 1/2); with exponent 1, B = H^2 / (sum of H over the item) = (8/21, 3/14, 2/15, 3/10).
    trust, belief = truth.pooled_investment_update(ONE, HALF, LINKS, RIVALS, exponent=1.0)
    assert trust.tolist() == numbers([2 / 3, 1 / 3, 1])
    assert belief.tolist() == numbers([8 / 21, 3 / 14, 2 / 15, 3 / 10])


def test_truthfinder():
    # tau = ln 10: sigma = (2, 1, 1, 1) ln 10; minus half the rival's: (1.5, 0, 0.5, 0.5) ln 10; times 0.3, through the sigmoid.
    against = Arcs(RIVALS.index, -RIVALS.weight)
    trust, p = truth.truthfinder_update(torch.full((3,), 0.9, dtype=F64), LINKS, against)
    high, low = 1 / (1 + 10**-0.45), 1 / (1 + 10**-0.15)
    assert p.tolist() == numbers([high, 0.5, low, low])
    assert trust.tolist() == numbers([(high + low) / 2, high, (0.5 + low) / 2])


def test_truthfinder_survives_a_trust_that_rounds_to_one():
    trust, p = truth.truthfinder_update(torch.ones(3), LINKS, Arcs(RIVALS.index, torch.zeros(4)), dampening=10.0)
    assert torch.isfinite(trust).all()
    assert (p <= 1).all()


def test_crh():
    # b = (2/3, 1/3, 1/2, 1/2). Losses: source 0: 2/9 + 1/2, source 1: 2/9, source 2: 8/9 + 1/2; in all 42/18.
    weight, belief = truth.crh_update(ONE, LINKS, RIVALS, epsilon=0.0)
    assert belief.tolist() == numbers([2 / 3, 1 / 3, 1 / 2, 1 / 2])
    assert weight.tolist() == numbers([-math.log(13 / 42), -math.log(4 / 42), -math.log(25 / 42)])


def test_crh_of_a_single_source_keeps_its_weight():
    links = Links.single(torch.tensor([0, 1]), torch.tensor([0, 0]), 2, 1)
    weight, belief = truth.crh_update(torch.ones(1, dtype=F64), links, Arcs(RIVALS.index[:, :2], RIVALS.weight[:2]))
    assert (weight.tolist(), belief.tolist()) == ([1.0], [0.5, 0.5])


def test_two_estimates():
    # p = (1.9 / 3, 1.1 / 3, 1 / 2, 1 / 2), spread to (1, 0, 1/2, 1/2).
    # e: source 0: (0 + 0 + 1/2 + 1/2) / 4, source 1: 0 / 2, source 2: (1 + 1 + 1/2 + 1/2) / 4; spread to (1/3, 0, 1).
    error, belief = truth.two_estimates_update(torch.full((3,), 0.1, dtype=F64), LINKS, RIVALS, rounding=0.0)
    assert belief.tolist() == numbers([1, 0, 0.5, 0.5])
    assert error.tolist() == numbers([1 / 3, 0, 1])
    # Half of it rounded: 1/3 -> 1/6 + 0.
    error, _ = truth.two_estimates_update(torch.full((3,), 0.1, dtype=F64), LINKS, RIVALS, rounding=0.5)
    assert error.tolist() == numbers([1 / 6, 0, 1])


def test_two_estimates_does_not_spread_equal_values():
    links = Links.single(torch.tensor([0, 1]), torch.tensor([0, 1]), 2, 2)
    _, belief = truth.two_estimates_update(torch.full((2,), 0.2, dtype=F64), links, Arcs(RIVALS.index[:, :2], RIVALS.weight[:2]), 0.0)
    assert belief.tolist() == numbers([0.5, 0.5])


def test_majority():
    assert truth.MajorityVote()(evidence()).p.tolist() == numbers([2 / 3, 1 / 3, 1 / 2, 1 / 2])
    # With c = 0.9: 2 / 2.9, 1 / 2.8, 1 / 1.9.
    assert truth.MajorityVote(edge_weight="confidence")(evidence()).p.tolist() == numbers([2 / 2.9, 1 / 2.8, 1 / 1.9, 1 / 1.9])


def test_scores_are_shares_among_rivals_or_the_belief_itself():
    # Two iterations of Sums leave B = (1, 0.5, 0.625, 0.5).
    assert truth.Sums(max_iterations=2)(evidence()).p.tolist() == numbers([2 / 3, 1 / 3, 5 / 9, 4 / 9])
    trace = truth.Sums(max_iterations=2, score="belief")(evidence())
    assert trace.p.tolist() == numbers([1, 0.5, 0.625, 0.5])
    assert trace.converged.tolist() == [False]
    assert trace.rounds_run.tolist() == [2]


def test_a_filtered_claim_keeps_its_prior_and_its_vote_does_not_count():
    graph = evidence(relevance=torch.tensor([0.1, 0.9, 0.9, 0.9], dtype=F64))
    trace = truth.MajorityVote()(graph)
    assert trace.p.tolist() == numbers([0.4, 1, 0.5, 0.5])
    assert trace.accepted.tolist() == [False, True, True, True]
    # Source 1 asserts only the filtered claim, so Sums sees sources 0 and 2 alone: T = (0.5, 0.5 * 2), B = (1, 0.5, 1).
    assert truth.Sums(max_iterations=1, score="belief")(graph).p.tolist() == numbers([0.4, 1, 0.5, 1])


@pytest.mark.parametrize(
    "method", [truth.MajorityVote, truth.Sums, truth.Investment, truth.PooledInvestment, truth.CRH, truth.TwoEstimates]
)
def test_claims_without_any_source_keep_their_prior(method):
    graph = EvidenceGraph.build(
        torch.tensor([0.4, 0.6, 0.7], dtype=F64),
        torch.tensor([[0], [1]]),
        torch.tensor([[0.05, 0.9, 0.05]], dtype=F64),
        source_index=torch.tensor([[2], [0]]),
        num_sources=1,
    )
    assert method()(graph).p.tolist()[:2] == [0.4, 0.6]


def test_support_raises_and_contradiction_lowers_truthfinder():
    def of(relation):
        graph = EvidenceGraph.build(torch.full((2,), 0.5, dtype=F64), torch.tensor([[0], [1]]), torch.tensor([relation], dtype=F64))
        return truth.TruthFinder()(graph).p[0].item()

    assert of((0.05, 0.9, 0.05)) < of((0.05, 0.05, 0.9)) < of((0.9, 0.05, 0.05))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: truth.Sums(score="rank"), "score 'rank' is not known"),
        (lambda: truth.Sums(edge_weight="two"), "edge_weight 'two' is not known"),
        (lambda: truth.TruthFinder(initial_trust=1.0), "initial_trust is 1.0"),
        (lambda: truth.CRH(max_iterations=-1), "must not be negative"),
    ],
)
def test_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Six algorithms on 349 claims


@pytest.fixture
def matrix(oracle_data):
    """Links, rivals and implication of the oracle's matrix, its names, and the expected scores."""
    folder = oracle_data("td_oracle")
    with gzip.open(folder / "claims.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sources = sorted({row["source"] for row in rows})
    claims = sorted({(row["object"], row["value"]) for row in rows})
    links = Links.single(
        torch.tensor([claims.index((row["object"], row["value"])) for row in rows]),
        torch.tensor([sources.index(row["source"]) for row in rows]),
        len(claims),
        len(sources),
    )
    pairs = [(i, j) for i, (a, _) in enumerate(claims) for j, (b, _) in enumerate(claims) if i != j and a == b]
    index = torch.tensor(pairs).T
    near = [math.exp(-0.5 * (float(claims[i][1]) - float(claims[j][1])) ** 2) for i, j in pairs]
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rivals, implication = Arcs(index, torch.ones(len(pairs), dtype=F64)), Arcs(index, torch.tensor(near, dtype=F64))
    return links, rivals, implication, sources, claims, expected


@pytest.mark.parametrize("name", ["voting", "sums", "average_log", "investment", "pooled_investment", "truthfinder"])
def test_published_scores(matrix, name):
    links, rivals, implication, sources, claims, expected = matrix
    half, one = torch.full((len(claims),), 0.5, dtype=F64), torch.ones(len(claims), dtype=F64)
    voted, uniform = share(links.votes(F64), rivals), share(one, rivals)

    def facts(update, belief, iterations):
        return find_facts(update, belief, links, max_iterations=iterations, tolerance=0.0)[0]

    trust, belief = {
        "voting": lambda: links.normalised(torch.ones(len(sources), dtype=F64), links.votes(F64)),
        "sums": lambda: facts(partial(truth.sums_update, links=links), half, 20),
        "average_log": lambda: facts(partial(truth.average_log_update, links=links, log_offset=0.0), half, 20),
        "investment": lambda: facts(partial(truth.investment_update, links=links), voted, 20),
        "pooled_investment": lambda: facts(partial(truth.pooled_investment_update, links=links, rivals=rivals), uniform, 10),
        "truthfinder": lambda: find_truth(links, implication, half)[0],
    }[name]()
    assert trust.tolist() == pytest.approx([expected[name]["trust"][s] for s in sources], abs=1e-9)
    assert belief.tolist() == pytest.approx([expected[name]["belief"][v][x] for v, x in claims], abs=1e-9)
