"""Paraphrases merge, disagreements stay apart, and the order of the claims changes nothing."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.alignment import Aligner, merge_vetoes, normalised
from arbgraph.schema import Claim, Mention

# One hand-written pair or more for every guard.
KEPT_APART = {
    "times": [
        ("The museum closed in 2011.", "The museum closed in 2013."),
        ("The museum closed in 2011.", "The museum closed."),
        ("The ship sank on 20 July 1969.", "The ship sank on 16 July 1969."),
        ("The office has been in Bonn since 1949.", "The office was in Bonn until 1949."),
        ("The mill was built in the 1920s.", "The mill was built in the 1930s."),
    ],
    "numbers": [
        ("The lake covers 25 square kilometres.", "The lake covers 250 hectares."),
        ("12 percent of voters stayed at home.", "21 percent of voters stayed at home."),
        ("The group has twelve islands.", "The group has islands."),
        ("The group has twelve islands.", "The group has more than twelve islands."),
        ("The group has twelve islands.", "The group has at least twelve islands."),
        ("Three dogs and two cats were saved.", "Two dogs and three cats were saved."),
        ("She burned her first novel.", "She burned her second novel."),
    ],
    "names": [
        ("The picture is by Rosa Belmonte.", "The picture is by Harold Venn."),
        ("The aqueduct crosses the Tarn in Sefton.", "The aqueduct crosses the Tarn."),
        ("The seat of West Germany was Bonn.", "The seat of Germany was Bonn."),
        ("The mill lies in Upper Marden.", "The mill lies in Lower Marden."),
    ],
    "negation": [
        ("Pluto is a planet.", "Pluto is not a planet."),
        ("The trust took the offer.", "The trust never took the offer."),
        ("The trust denied the report.", "The trust made the report."),
    ],
    "opposites": [
        ("Bread prices rose in Sarno.", "Bread prices fell in Sarno."),
        ("The clinic sold the van.", "The clinic bought the van."),
        ("The drug is safe.", "The drug is unsafe."),
    ],
    "quantifiers": [
        ("All members voted.", "Most members voted."),
        ("It is the largest lake of the valley.", "It is the smallest lake of the valley."),
        ("It is the only hotel in town.", "It is a hotel in town."),
        ("Air is denser than steam.", "Air is dense, as is steam."),
    ],
    "roles": [
        ("Spain beat Italy in the final.", "Italy beat Spain in the final."),
        ("Spain beat Italy in the final.", "Spain was beaten by Italy in the final."),
        ("The virus spread from bats to pigs.", "The virus spread from pigs to bats."),
        ("The dog bit the postman.", "The postman bit the dog."),
    ],
    "status": [
        ("He is the mayor of the town.", "He is the former mayor of the town."),
        ("The bridge opens in spring.", "The bridge will open in spring."),
        ("The bridge fell.", "The bridge reportedly fell."),
        ("The picture is a Rembrandt.", "The picture is a fake Rembrandt."),
    ],
    "words": [
        ("The national animal is the grey seal.", "The national animal is the marsh harrier."),
        ("The hall has a slate roof.", "The hall has a copper roof."),
    ],
}

MERGEABLE = [
    ("The lake covers 25 square kilometres.", "The lake covers 2,500 hectares."),
    ("Palisade Mutual has its head office in Medford.", "The head office of Palisade Mutual is in Medford."),
    ("Spain beat Italy in the final.", "Italy was beaten by Spain in the final."),
    ("The club was founded in 1990 in Medford.", "The club was established in 1990 in Medford."),
    ("Light takes about eight minutes and twenty seconds.", "Light takes roughly 500 seconds."),
    ("WHO met in Geneva.", "The World Health Organization met in Geneva."),
    ("The limit on the causeway at Ravel is 60 km/h.", "On the Ravel causeway, the limit is 60 km/h."),
    ("The crown passed to Barack Obama.", "The crown passed to Obama."),
]


@pytest.mark.parametrize(("guard", "a", "b"), [(guard, a, b) for guard, pairs in KEPT_APART.items() for a, b in pairs])
def test_guard_keeps_apart(guard, a, b):
    assert guard in merge_vetoes(a, b)
    assert merge_vetoes(a, b) == merge_vetoes(b, a)


@pytest.mark.parametrize(("a", "b"), MERGEABLE)
def test_paraphrases_pass_all_guards(a, b):
    assert merge_vetoes(a, b) == ()
    assert merge_vetoes(b, a) == ()


def claim(text: str, document: str = "d1", start: int = 0) -> Claim:
    return Claim.of(text, (Mention(document_id=document, start=start, end=start + len(text), quote=text),))


def same_direction(count: int) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.ones(count, 4), dim=1)


def test_a_merge_keeps_every_mention_and_the_vector_of_its_text():
    texts = ["The head office of Palisade Mutual is in Medford.", "Palisade Mutual has its head office in Medford.", "Bread prices rose."]
    claims = [claim(text, f"d{i}") for i, text in enumerate(texts)]
    vectors = torch.nn.functional.normalize(torch.tensor([[1.0, 0.1, 0.0], [1.0, 0.0, 0.1], [0.0, 1.0, 0.0]]), dim=1)
    aligned = Aligner(0.88).align(claims, vectors)
    assert (len(aligned.claims), aligned.merged, aligned.vetoes) == (2, 1, {})
    merged, alone = aligned.claims[aligned.cluster[0]], aligned.claims[aligned.cluster[2]]
    assert aligned.cluster[0] == aligned.cluster[1]
    assert merged.document_ids == ("d0", "d1")
    assert merged.text == texts[1]  # equally central, shorter
    assert torch.equal(aligned.embedding[aligned.cluster[0]], vectors[1])
    assert alone is claims[2]


def test_a_veto_is_counted_and_both_claims_stay():
    claims = [claim("The museum closed in 2011."), claim("The museum closed in 2013.")]
    aligned = Aligner(0.88).align(claims, same_direction(2))
    assert set(aligned.claims) == set(claims)
    assert aligned.merged == 0
    assert aligned.vetoes == {"times": 1}


def test_equal_texts_merge_whatever_the_threshold_and_vectors():
    claims = [claim("Bread prices rose.", "d1"), claim("bread  prices rose", "d2"), claim("Bread prices rose.[4]", "d3")]
    aligned = Aligner(1.01).align(claims, torch.eye(3))
    assert len(aligned.claims) == 1
    assert aligned.claims[0].document_ids == ("d1", "d2", "d3")
    assert aligned.merged == 2
    assert normalised(" It  rose [3] .") == "it rose"


def test_no_cluster_holds_a_pair_that_may_not_merge():
    """The short form may join either side, but the two sides name different towns."""
    texts = [
        "The head office of Palisade Mutual is in Medford.",
        "The head office of Palisade Mutual is in Salem.",
        "Palisade Mutual has its head office in Medford.",
        "Palisade Mutual has its head office in Salem.",
    ]
    aligned = Aligner(0.5).align([claim(text) for text in texts], same_direction(4))
    assert aligned.cluster[0] == aligned.cluster[2] != aligned.cluster[1]
    assert aligned.cluster[1] == aligned.cluster[3]


def test_similar_chains_do_not_merge_their_ends():
    """a-b and b-c reach the threshold, a-c does not: the most similar pair merges, the third stays out."""
    texts = ["The mill grinds rye.", "The old mill grinds rye.", "The old mill by the canal grinds rye."]
    angles = torch.tensor([0.0, 0.4, 0.7])
    vectors = torch.stack([angles.cos(), angles.sin()], dim=1)  # cosines 0.921, 0.955, 0.765
    aligned = Aligner(0.9).align([claim(text) for text in texts], vectors)
    assert aligned.cluster[1] == aligned.cluster[2] != aligned.cluster[0]


def test_the_usual_wording_represents_the_cluster():
    usual, other = "Palisade Mutual has its registered head office in Medford.", "The head office of Palisade Mutual is in Medford."
    claims = [claim(usual, "d1"), claim(usual, "d2"), claim(other, "d3")]
    vectors = torch.nn.functional.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.2]]), dim=1)
    (merged,) = Aligner(0.9).align(claims, vectors).claims
    assert merged.text == usual
    assert len(merged.mentions) == 3


def test_every_mention_weighs_in_the_choice_of_the_representative():
    """a, b and c (stated twice) at cosines ab 0.99, ac 0.99, bc 0.96: a has 1 + 0.99 + 2 * 0.99, c has 2 + 0.99 + 0.96."""
    a, b, c = *MERGEABLE[1], "Palisade Mutual has a large head office in Medford."
    angles = torch.tensor([0.1415, 0.283, 0.0, 0.0])
    claims = [claim(a, "d1"), claim(b, "d2"), claim(c, "d3"), claim(c, "d4")]
    (merged,) = Aligner(0.9).align(claims, torch.stack([angles.cos(), angles.sin()], dim=1)).claims
    assert merged.text == a


def test_ties_are_broken_by_the_texts_and_not_by_the_order():
    """All vectors are equal; the plain form may join either side, and two texts differ in case alone."""
    texts = ["The mill grinds rye.", "The old mill grinds rye.", "The red mill grinds rye.", "the mill GRINDS rye"]
    results = {
        Aligner(0.9).align([claim(texts[row], f"d{row}") for row in rows], same_direction(4)).claims
        for rows in itertools.permutations(range(4))
    }
    assert len(results) == 1
    assert len(results.pop()) == 2


def test_below_the_threshold_nothing_merges():
    claims = [claim(text) for text in MERGEABLE[1]]
    vectors = torch.tensor([[1.0, 0.0], [0.8, 0.6]])
    assert Aligner(0.81).align(claims, vectors).merged == 0
    assert Aligner(0.79).align(claims, vectors).merged == 1


@pytest.mark.parametrize("count", [0, 1])
def test_none_and_one(count):
    claims = [claim("Bread prices rose.")][:count]
    aligned = Aligner(0.88).align(claims, torch.eye(2)[:count])
    assert aligned.claims == tuple(claims)
    assert aligned.embedding.shape == (count, 2)


def test_wrong_number_of_vectors_is_refused():
    with pytest.raises(ValueError, match="1 claims but 2 embeddings"):
        Aligner(0.88).align([claim("Bread prices rose.")], torch.eye(2))


POOL = sorted({text for pairs in [*KEPT_APART.values(), MERGEABLE] for pair in pairs for text in pair})


@settings(max_examples=40, deadline=None)
@given(
    chosen=st.lists(st.sampled_from(range(len(POOL))), min_size=2, max_size=14),
    order=st.randoms(use_true_random=False),
    seed=st.integers(0, 99),
)
def test_order_changes_nothing_and_clusters_are_cliques(chosen, order, seed):
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.nn.functional.normalize(2 * torch.ones(len(POOL), 6) + torch.randn(len(POOL), 6, generator=generator), dim=1)
    claims = [claim(POOL[row], f"d{i}", start=i) for i, row in enumerate(chosen)]
    rows = list(range(len(chosen)))
    order.shuffle(rows)
    first = Aligner(0.85).align(claims, vectors[chosen])
    second = Aligner(0.85).align([claims[row] for row in rows], vectors[[chosen[row] for row in rows]])
    assert first.claims == second.claims
    assert torch.equal(first.embedding, second.embedding)
    assert [first.cluster[row] for row in rows] == list(second.cluster)
    assert (first.merged, first.vetoes) == (second.merged, second.vetoes)
    assert sorted(m for c in first.claims for m in [(m.document_id, m.start) for m in c.mentions]) == sorted(
        (f"d{i}", i) for i in range(len(chosen))
    )
    for a, b in itertools.combinations(range(len(claims)), 2):
        if first.cluster[a] == first.cluster[b] and chosen[a] != chosen[b]:
            assert merge_vetoes(claims[a].text, claims[b].text) == ()
            assert float(vectors[chosen[a]] @ vectors[chosen[b]]) >= 0.85 - 1e-6
