"""Natural neutral pairs: claims that lie close together in real passages, and do not conflict.

The pairs that a verifier meets in use are mined by cosine among claims on one topic, and nearly all of them are neutral. Such
pairs are rare in inference corpora, so a verifier trained on those alone calls too many of them contradictions. Passages of
an encyclopaedia do not contradict themselves, and paragraphs retrieved for one question rarely contradict each other; their
similar claims are taken as neutral unless one nearly contains the other.

    python -m train.data.neighbours --documents FILE --out neutral.jsonl.gz
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from jsonargparse import auto_cli

from arbgraph.comparison import compare
from arbgraph.encoder import SentenceEncoder
from arbgraph.extraction.syntactic import SyntacticExtractor
from arbgraph.io import BadRecord, InputError, read_queries, write_json_lines
from arbgraph.mining import similar_pairs
from arbgraph.schema import Claim, Query, content_id


def neutral_pairs(
    query: Query, extractor: SyntacticExtractor, encoder: SentenceEncoder, low: float, high: float
) -> Iterator[dict[str, Any]]:
    """Pairs of claims of one question's passages with cosine in [low, high], neither restating nor containing each other."""
    (extraction,) = extractor.extract([query.documents])
    claims: tuple[Claim, ...] = extraction.claims
    pairs, similarity = similar_pairs(encoder.encode([claim.text for claim in claims]), low)
    for (a, b), value in zip(pairs.T.tolist(), similarity.tolist(), strict=True):
        first, second = claims[a], claims[b]
        if value > high or _restates(first.text, second.text):
            continue
        same = bool(set(first.document_ids) & set(second.document_ids))
        yield {
            "id": content_id("neighbours", first.text, second.text),
            "premise": first.text,
            "hypothesis": second.text,
            "label": "neutral",
            "meta": {"category": "neighbours", "same_document": same, "similarity": round(value, 4)},
        }


def _restates(a: str, b: str) -> bool:
    """Whether one claim holds most of the other's content, so that it may entail it."""
    comparison = compare(a, b)
    return max(comparison.a_in_b, comparison.b_in_a) >= 0.75


def main(documents: list[str] | str, out: str, low: float = 0.45, high: float = 0.85, pairs: int = 12000, seed: int = 0) -> None:
    """Writes natural neutral pairs.

    Args:
        documents: file of questions with passages, or a list of such files (`'[a.jsonl, b.jsonl]'`).
        out: JSON lines, gzipped when named .gz.
        low: smallest cosine of a pair.
        high: largest cosine of a pair; above it, two claims may state the same.
        pairs: pairs kept, drawn evenly over the questions.
        seed: seed of the draw.
    """
    extractor, encoder = SyntacticExtractor(), SentenceEncoder()
    rng, kept = random.Random(seed), []
    queries = [item for path in ([documents] if isinstance(documents, str) else documents) for item in read_queries(path)]
    share = -(-pairs // max(1, len(queries)))
    for item in queries:
        if isinstance(item, BadRecord):
            raise InputError(str(item))
        rows = list(neutral_pairs(item, extractor, encoder, low, high))
        kept += rng.sample(rows, min(share, len(rows)))
    rng.shuffle(kept)
    write_json_lines(out, kept[:pairs])


def command_line(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; what a user can cause ends in one line."""
    try:
        auto_cli(main, args=list(arguments) if arguments is not None else None, as_positional=False)
    except (InputError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    command_line()
