"""Merges paraphrases into canonical claims and keeps disagreements apart.

Cosine alone cannot tell a paraphrase from its negation or from the same sentence with another year. A pair of claims
therefore merges only when it is similar enough and no guard objects, and a cluster holds only pairs that may merge.
Guards err on the side of keeping claims apart: two nodes that say the same still support each other, while two nodes
that disagree and are merged hide the conflict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from arbgraph.comparison import ClaimFacts, Name, Quantity, compare, describe
from arbgraph.comparison.compare import comparable, exchanged_words, participants_reversed, same_entity
from arbgraph.comparison.facts import clean
from arbgraph.comparison.lexicon import DISTINGUISHING, PRIVATIVE, stem
from arbgraph.mining import similar_pairs
from arbgraph.schema import Claim, Mention

_FRAME_WORD = re.compile(r"\w+")
_TRAILING = re.compile(r"[\s.!;,]+$")


@dataclass(frozen=True)
class Alignment:
    """Canonical claims, and how they came about.

    claims: one per cluster, in the order of their ids; mentions of all members, each once. A claim that merged with
        nothing is the input claim itself; a merged one has the representative's text and a new content id.
    embedding: `[C, D]` the representatives' rows.
    cluster: for each input claim, in input order, the index of its canonical claim.
    merged: how many claims were absorbed: inputs minus canonical claims.
    vetoes: guard -> number of pairs of distinct texts at or above the threshold that it kept apart; a pair counts for
        every guard that objected.
    """

    claims: tuple[Claim, ...]
    embedding: Tensor
    cluster: tuple[int, ...]
    merged: int
    vetoes: dict[str, int]


class Aligner:
    """Merges claims whose cosine is at least `tau_merge` and that no guard keeps apart.

    Claims whose texts are equal up to case, spaces and closing marks merge always. The clusters are cliques: every two
    members may merge. Pairs are taken from the most similar down, and two clusters join when all pairs across them may
    merge. Everything runs in the order of the texts, so the result does not depend on the order of the claims.

    The representative is the member most similar to all mentions of the cluster, so that the usual wording wins; then
    the shortest, then the first in the alphabet.
    """

    def __init__(self, tau_merge: float = 0.88, *, block: int = 4096) -> None:
        self.tau_merge, self.block = tau_merge, block

    def align(self, claims: Sequence[Claim], embeddings: Tensor) -> Alignment:
        """Aligns claims with their unit vectors `[N, D]`. Raises ValueError when the numbers of rows differ."""
        if len(claims) != embeddings.shape[0]:
            raise ValueError(f"{len(claims)} claims but {embeddings.shape[0]} embeddings; give one vector per claim, in the same order")
        groups = _equal_texts(claims)
        texts = [claims[rows[0]].text for rows in groups]
        vectors = embeddings[[rows[0] for rows in groups]]
        similarity, vetoes = self._mergeable(texts, vectors)
        clusters = _cliques(len(groups), similarity)
        built = [_canonical(cluster, groups, claims, similarity) for cluster in clusters]
        order = sorted(range(len(built)), key=lambda i: built[i][0].id)
        cluster_of = [0] * len(claims)
        for rank, i in enumerate(order):
            for group in clusters[i]:
                for row in groups[group]:
                    cluster_of[row] = rank
        return Alignment(
            claims=tuple(built[i][0] for i in order),
            embedding=vectors[[built[i][1] for i in order]],
            cluster=tuple(cluster_of),
            merged=len(claims) - len(built),
            vetoes=dict(sorted(vetoes.items())),
        )

    def _mergeable(self, texts: list[str], vectors: Tensor) -> tuple[dict[tuple[int, int], float], Counter[str]]:
        """The similarity of each pair that may merge, and what kept the other similar pairs apart."""
        pairs, values = similar_pairs(vectors, self.tau_merge, self.block)
        allowed: dict[tuple[int, int], float] = {}
        vetoes: Counter[str] = Counter()
        for (a, b), value in zip(pairs.T.tolist(), values.tolist(), strict=True):
            objections = merge_vetoes(texts[a], texts[b])
            vetoes.update(objections)
            if not objections:
                allowed[a, b] = value
        return allowed, vetoes


def normalised(text: str) -> str:
    """The text without case, odd spaces, footnote marks, typographic variants and closing marks."""
    return _TRAILING.sub("", clean(text)).casefold()


def _equal_texts(claims: Sequence[Claim]) -> list[list[int]]:
    """Rows of claims with equal normalised text, as groups in the order of the texts; within a group, by text and id."""
    groups: dict[str, list[int]] = {}
    for row, claim in enumerate(claims):
        groups.setdefault(normalised(claim.text), []).append(row)
    return [sorted(groups[text], key=lambda row: (claims[row].text, claims[row].id)) for text in sorted(groups)]


def _cliques(count: int, similarity: dict[tuple[int, int], float]) -> list[list[int]]:
    """Clusters of 0..count-1 in which every pair occurs in `similarity`; greedy from the most similar pair down."""
    members = {node: [node] for node in range(count)}
    home = list(range(count))
    for (a, b), _ in sorted(similarity.items(), key=lambda item: (-item[1], item[0])):
        first, second = home[a], home[b]
        if first == second:
            continue
        if all((min(i, j), max(i, j)) in similarity for i in members[first] for j in members[second]):
            members[first] += members.pop(second)
            for node in members[first]:
                home[node] = first
    return [sorted(nodes) for nodes in members.values()]


def _canonical(
    cluster: list[int], groups: list[list[int]], claims: Sequence[Claim], similarity: dict[tuple[int, int], float]
) -> tuple[Claim, int]:
    """The canonical claim of a cluster of groups, and the group that represents it."""
    rows = [row for group in cluster for row in groups[group]]
    weight = {group: sum(max(1, len(claims[row].mentions)) for row in groups[group]) for group in cluster}

    def centrality(group: int) -> float:
        others = (weight[other] * similarity[min(group, other), max(group, other)] for other in cluster if other != group)
        return round(weight[group] + sum(others), 6)

    best = min(cluster, key=lambda group: (-centrality(group), len(claims[groups[group][0]].text), claims[groups[group][0]].text))
    if len(rows) == 1:
        return claims[rows[0]], best
    return Claim.of(claims[groups[best][0]].text, _all_mentions(claims[row] for row in rows)), best


def _all_mentions(claims: Iterable[Claim]) -> tuple[Mention, ...]:
    return tuple({(m.document_id, m.start, m.end): m for claim in claims for m in claim.mentions}.values())


def merge_vetoes(a: str, b: str) -> tuple[str, ...]:
    """The guards that keep two texts apart, in a fixed order; empty when they may merge. Symmetric in a and b.

    times: the years, dates or their bounds ("since", "before") are not the same on both sides.
    numbers: some quantity of one side has no equal on the other, after conversion and rounding.
    names: some name of one side is missing on the other, or differs by a word such as "new" or "west".
    negation: the sides differ in negators or in words such as "refused".
    opposites: an antonym or converse pair (rose and fell, bought and sold).
    quantifiers: quantifiers, superlatives or comparison differ (all and most, largest).
    roles: participants stand in exchanged order, or one side alone is passive.
    status: one side alone speaks of the past, of a plan, of an opening or of a closing; or hedges; or says "fake" and the like.
    words: each side has content words that are no synonyms of any on the other, units and names aside. Extra words on one side alone
        only add detail and do not object.
    """
    x, y = describe(a), describe(b)
    comparison = compare(a, b)
    guards = {
        "times": _times(x) != _times(y),
        "numbers": not _same_quantities(x.quantities, y.quantities),
        "names": not _same_names(x, y),
        "negation": x.negations != y.negations or x.denials != y.denials,
        "opposites": comparison.antonym_pair is not None or comparison.converse_pair is not None,
        "quantifiers": (x.quantifiers, x.superlatives, x.comparative) != (y.quantifiers, y.superlatives, y.comparative),
        "roles": _roles_differ(x, y),
        "status": _status(x) != _status(y),
        "words": _words_exchanged(x, y),
    }
    return tuple(name for name, objects in guards.items() if objects)


def _times(facts: ClaimFacts) -> set[tuple[object, ...]]:
    return {
        (span.year, span.month, span.day, str(span.point), span.start == span.point[0], span.end == span.point[1]) for span in facts.times
    }


def _same_quantities(first: tuple[Quantity, ...], second: tuple[Quantity, ...]) -> bool:
    def matched(x: Quantity, others: tuple[Quantity, ...], own: tuple[Quantity, ...]) -> bool:
        alone = all(sum(q.dimension == x.dimension for q in side) == 1 for side in (own, others))
        return any(
            x.agrees(other) and x.is_bound == other.is_bound and (comparable(x, other) or (alone and x.dimension == other.dimension))
            for other in others
        )

    return all(matched(x, second, first) for x in first) and all(matched(y, first, second) for y in second)


def _same_names(x: ClaimFacts, y: ClaimFacts) -> bool:
    def found(name: Name, other: ClaimFacts) -> bool:
        rivals = [rival for rival in other.names if same_entity(name, rival)]
        if not rivals:
            return all(word in other.words for word in name.words)
        return any(not (name.stems ^ rival.stems) & DISTINGUISHING for rival in rivals)

    return all(found(name, y) for name in x.names) and all(found(name, x) for name in y.names)


def _status(facts: ClaimFacts) -> tuple[bool, frozenset[str], frozenset[str]]:
    return facts.hedged, facts.status & {"past", "planned", "start", "end"}, facts.words & PRIVATIVE


def _words_exchanged(x: ClaimFacts, y: ClaimFacts) -> bool:
    compared = _compared_words(x) | _compared_words(y)
    only_x, only_y = exchanged_words(x, y)
    return not (compared.issuperset(only_x) or compared.issuperset(only_y))


def _compared_words(facts: ClaimFacts) -> set[str]:
    """Stems of the words inside quantities and names, which have guards of their own."""
    in_quantities = {stem(word) for quantity in facts.quantities for word in quantity.text.lower().split()}
    return in_quantities.union(*(name.stems for name in facts.names))


def _roles_differ(x: ClaimFacts, y: ClaimFacts) -> bool:
    """Whether participants exchange their parts.

    Two shared names in opposite order are the same statement only when one side alone is passive ("A beat B", "B was beaten by
    A"), and in the same order only when both or neither are. Without two names, two words that change places in an otherwise
    equal sentence count ("the virus spread from bats to pigs").
    """
    shared = [n for n in x.names if any(n.usual == m.usual for m in y.names)]
    if len(shared) > 1:
        return (participants_reversed(x, y) is not None) != (x.passive != y.passive)
    if x.passive != y.passive or x.content != y.content:
        return False
    moved = {word for word, other in zip(x.stems, y.stems, strict=False) if word != other}
    return len(moved) == 2 and _frame(x, moved) == _frame(y, moved)


def _frame(facts: ClaimFacts, holes: set[str]) -> list[str]:
    """The words of the text in order, without articles, with a blank for every word whose stem is in `holes`."""
    words = [word for word in _FRAME_WORD.findall(facts.text.casefold()) if word not in ("a", "an", "the")]
    return ["" if stem(word) in holes else word for word in words]
