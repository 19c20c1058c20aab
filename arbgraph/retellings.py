"""Documents that retell one text in other words, such as copies that a language model has rewritten: one source, found with an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arbgraph.independence import paraphrases
from arbgraph.schema import Document

if TYPE_CHECKING:
    from arbgraph.encoder import SentenceEncoder

# Of a document, where no encoder is given.
TOKENS = 256
# Digits of a vector that do not depend on which documents share a batch.
DECIMALS = 4


class Retellings:
    """Pairs of documents of one query that retell each other (`arbgraph.independence.paraphrases`).

    Args:
        cosine, words: the least cosine and the least share of words. Above a cosine of 1 there are none, and nothing is encoded.
        encoder: of the documents; None loads the packaged one when it is first needed, which reads their first 256 tokens.
    """

    def __init__(self, cosine: float, words: float, encoder: SentenceEncoder | None = None) -> None:
        self.cosine, self.words = cosine, words
        self._encoder = encoder

    def of(self, documents: Sequence[Document]) -> list[tuple[int, int]]:
        """Pairs of rows, smaller first. One query a call, so that a pair near the threshold does not depend on other queries."""
        if self.cosine > 1 or len(documents) < 2:
            return []
        if self._encoder is None:
            from arbgraph.encoder import SentenceEncoder

            self._encoder = SentenceEncoder(max_tokens=TOKENS)
        vectors = self._encoder.encode([document.text for document in documents]).double().numpy()
        return paraphrases(documents, vectors.round(DECIMALS), self.cosine, self.words)
