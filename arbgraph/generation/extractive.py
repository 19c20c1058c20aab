"""An answer without a language model: validated claims, quoted in a sensible order, a citation per sentence, disputes stated."""

from __future__ import annotations

from collections.abc import Sequence

from arbgraph.schema import Answer, ArbitratedClaim, Arbitration, Citation, RelationLabel

NOTHING_LEFT = "The documents hold no credible statement that bears on this question."


class ExtractiveWriter:
    """Quotes the validated claims that bear most on the query.

    Order: relevance to the query plus a small bonus per further independent source. A claim that supports, or nearly repeats, a
    claim already quoted is not quoted again: its documents join that sentence's citation. Claims below `relative_relevance`
    of the best are left out. Then come the disputes that touch the quoted claims: statements that were rejected, and
    contradictions that the evidence does not decide.

    Args:
        sentences: quoted claims at most.
        relative_relevance: share of the best claim's relevance that a quoted claim needs, in [0, 1].
        repeat_similarity: cosine from which a claim counts as a repetition.
        disputes: disputes stated at most.
    """

    def __init__(self, sentences: int = 5, *, relative_relevance: float = 0.75, repeat_similarity: float = 0.85, disputes: int = 3) -> None:
        self.sentences, self.relative_relevance = sentences, relative_relevance
        self.repeat_similarity, self.disputes = repeat_similarity, disputes

    def write(self, arbitrations: Sequence[Arbitration]) -> list[Answer]:
        """One answer per arbitration; it abstains when no claim is validated."""
        return [self._write(arbitration) for arbitration in arbitrations]

    def _write(self, arbitration: Arbitration) -> Answer:
        if not arbitration.validated:
            return Answer(text=NOTHING_LEFT, abstained=True)
        quoted = self._choose(arbitration)
        sentences = [(claims[0].text, claims) for claims in quoted]
        sentences += self._disputes(arbitration, {claim.id for claims in quoted for claim in claims})
        text, citations = "", []
        for sentence, claims in sentences:
            start = len(text) + bool(text)
            text = f"{text} {sentence}" if text else sentence
            documents = sorted({document for claim in claims for document in claim.document_ids})
            citations.append(
                Citation(start=start, end=len(text), claim_ids=tuple(claim.id for claim in claims), document_ids=tuple(documents))
            )
        return Answer(text=text, citations=tuple(citations))

    def _choose(self, arbitration: Arbitration) -> list[list[ArbitratedClaim]]:
        """Claims to quote, each followed by the validated claims that it stands for."""
        repeats = {
            frozenset((relation.a, relation.b))
            for relation in arbitration.relations
            if relation.label == RelationLabel.SUPPORT or relation.similarity >= self.repeat_similarity
        } - {frozenset((r.a, r.b)) for r in arbitration.relations if r.label == RelationLabel.CONTRADICT}
        ranked = sorted(arbitration.validated, key=lambda c: (-self._score(c), c.id))
        floor = self.relative_relevance * max(claim.relevance for claim in ranked)
        groups: list[list[ArbitratedClaim]] = []
        for claim in ranked:
            host = next((group for group in groups if frozenset((group[0].id, claim.id)) in repeats), None)
            if host is not None:
                host.append(claim)
            elif len(groups) < self.sentences and claim.relevance >= floor:
                groups.append([claim])
        return groups

    @staticmethod
    def _score(claim: ArbitratedClaim) -> float:
        return claim.relevance * claim.credibility + 0.02 * min(claim.sources, 5)

    def _disputes(self, arbitration: Arbitration, quoted: set[str]) -> list[tuple[str, list[ArbitratedClaim]]]:
        claims = {claim.id: claim for claim in arbitration.claims}
        rejected: dict[str, list[ArbitratedClaim]] = {}
        undecided: list[list[ArbitratedClaim]] = []
        for relation in arbitration.relations:
            pair = [claims[relation.a], claims[relation.b]]
            if relation.label != RelationLabel.CONTRADICT or not quoted & {relation.a, relation.b}:
                continue
            statuses = {claim.status for claim in pair}
            if statuses == {"validated", "suppressed"}:
                loser = next(claim for claim in pair if claim.status == "suppressed")
                rejected.setdefault(loser.id, [loser])
            elif statuses == {"validated"} and self._disputed(arbitration, relation.a, relation.b):
                undecided.append(sorted(pair, key=lambda c: (-c.credibility, -c.relevance, c.id)))
        sentences = [
            (f"Rejected: {_inline(loser[0].text)}", loser)
            for loser in sorted(rejected.values(), key=lambda group: (-group[0].relevance, group[0].id))
        ]
        sentences += [
            (f"Disputed and not decided: {_inline(first.text)} against {_inline(second.text)}", [first, second])
            for first, second in sorted(undecided, key=lambda pair: (-pair[0].relevance, pair[0].id, pair[1].id))
        ]
        return [(sentence if sentence.endswith(".") else f"{sentence}.", group) for sentence, group in sentences[: self.disputes]]

    @staticmethod
    def _disputed(arbitration: Arbitration, a: str, b: str) -> bool:
        """Whether the pair was put to the arbitrator as a contradiction (a label below tau_conf never was)."""
        return any({decision.a, decision.b} == {a, b} for decision in arbitration.decisions)


def _inline(text: str) -> str:
    """A claim as a quotation inside a sentence."""
    return f"“{text.rstrip('.')}”"
