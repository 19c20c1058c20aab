"""RAGChecker's metrics: the identities, an element-wise oracle, and refusals; `test_table.py` holds the cases worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics.ragchecker import RAGCHECKER, Entailment, faithfulness_to_evidence, ragchecker


@st.composite
def arrays(draw, least=0):
    m, n, k = (draw(st.integers(least, 6)) for _ in range(3))

    def row(size):
        return draw(st.lists(st.booleans(), min_size=size, max_size=size))

    return Entailment(row(m), row(n), [row(k) for _ in range(m)], [row(k) for _ in range(n)])


@given(arrays(least=1))
def test_every_claim_is_faithful_hallucinated_or_known(e):
    value = ragchecker(e)
    assert value["faithfulness"] + value["hallucination"] + value["self_knowledge"] == pytest.approx(1)


@given(arrays(least=1))
def test_every_wrong_claim_is_noise_or_hallucinated(e):
    value = ragchecker(e)
    noise = value["noise_sensitivity_in_relevant"] + value["noise_sensitivity_in_irrelevant"]
    assert 1 - value["precision"] == pytest.approx(noise + value["hallucination"])


@given(arrays(least=1))
def test_precision_is_what_is_faithful_and_not_noise_or_known(e):
    value = ragchecker(e)
    noise = value["noise_sensitivity_in_relevant"] + value["noise_sensitivity_in_irrelevant"]
    assert value["precision"] == pytest.approx(value["faithfulness"] - noise + value["self_knowledge"])


def slow(e: Entailment) -> dict[str, float]:
    """The metrics claim by claim, from the definitions."""
    m, n = range(len(e.answer2response)), range(len(e.response2answer))
    k = range(e.chunks)
    relevant = [any(e.retrieved2answer[j][c] for j in n) for c in k]
    in_chunk = [any(e.retrieved2response[i][c] for c in k) for i in m]
    in_relevant = [any(e.retrieved2response[i][c] and relevant[c] for c in k) for i in m]
    in_chunks = [any(e.retrieved2answer[j][c] for c in k) for j in n]

    def share(values):
        values = list(values)
        return sum(values) / len(values) if values else 0.0

    precision, recall = share(e.answer2response), share(e.response2answer)
    noise = bool(len(n) and len(k))
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if precision * recall else 0.0,
        "claim_recall": share(in_chunks),
        "context_precision": share(relevant) if len(n) else 0.0,
        "context_utilization": share(e.response2answer[j] for j in n if in_chunks[j]),
        "noise_sensitivity_in_relevant": share(in_relevant[i] and not e.answer2response[i] for i in m) if noise else 0.0,
        "noise_sensitivity_in_irrelevant": share(in_chunk[i] and not in_relevant[i] and not e.answer2response[i] for i in m)
        if noise
        else 0.0,
        "hallucination": share(not in_chunk[i] and not e.answer2response[i] for i in m) if len(k) else 0.0,
        "self_knowledge": share(not in_chunk[i] and e.answer2response[i] for i in m) if len(k) else 0.0,
        "faithfulness": share(in_chunk),
    }


@given(arrays())
def test_agrees_with_the_definitions_claim_by_claim(e):
    assert ragchecker(e) == pytest.approx(slow(e))
    assert list(ragchecker(e)) == list(RAGCHECKER)
    assert all(0 <= value <= 1 for value in ragchecker(e).values())


@given(arrays(least=1), st.randoms())
def test_the_order_of_claims_and_chunks_does_not_matter(e, random):
    ours, gold, chunks = (random.sample(range(size), size) for size in (len(e.answer2response), len(e.response2answer), e.chunks))
    shuffled = Entailment(
        [e.answer2response[i] for i in ours],
        [e.response2answer[j] for j in gold],
        [[e.retrieved2response[i][c] for c in chunks] for i in ours],
        [[e.retrieved2answer[j][c] for c in chunks] for j in gold],
    )
    assert ragchecker(shuffled) == pytest.approx(ragchecker(e))


def test_faithfulness_to_evidence():
    base = {"answer2response": [1, 1], "response2answer": [], "retrieved2response": [[0], [0]], "retrieved2answer": []}
    assert faithfulness_to_evidence(Entailment(**base, evidence2response=[[1, 0], [0, 0]])) == 0.5
    # A system that wrote from nothing is faithful to nothing.
    assert faithfulness_to_evidence(Entailment(**base, evidence2response=[[], []])) == 0
    assert faithfulness_to_evidence(Entailment(**base)) is None


def test_refuses_arrays_that_do_not_fit():
    with pytest.raises(ValueError, match="retrieved2response needs 2 rows"):
        Entailment([1, 0], [], [[1]], [])
    with pytest.raises(ValueError, match=r"retrieved2answer needs 2 rows of one length, got rows of \[1, 2\]"):
        Entailment([], [1, 0], [], [[1], [1, 0]])
    with pytest.raises(ValueError, match="2 chunks, retrieved2answer 1"):
        Entailment([1], [1], [[1, 0]], [[1]])
