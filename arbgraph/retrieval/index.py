"""DocumentIndex: BM25 over documents held in memory, and the part of a document that bears on a query."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from arbgraph.schema import Document, content_id

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[]?[A-Z0-9])|(?<=[。！？])")


class Hit(NamedTuple):
    """A document that was found: its row in the index, the document, and its score (above 0)."""

    row: int
    document: Document
    score: float


def words(text: str) -> list[str]:
    """The words of a text as they are matched: compatibility forms composed, case folded; a letter's accents stay."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


class DocumentIndex:
    r"""An inverted index of documents (title and text) with BM25 scores in the form that Lucene uses.

    .. math::
        \sum_{t \in q} \ln\left(1 + \frac{N - n_t + 0.5}{n_t + 0.5}\right) \frac{f_t}{f_t + k_1 (1 - b + b\, l / \bar l)}

    with f the occurrences of a term in the document, l its length in words and n_t the number of documents that hold the term. A term that
    the query repeats counts as often. Equal input gives equal scores; ties keep the order of the documents.

    Args:
        documents: what is searched. k1, b: saturation of a term's occurrences (> 0) and normalisation by length (in [0, 1]).

    Raises ValueError on parameters out of range. Sources: Robertson et al. 1995; Kamphuis et al. 2020 (the Lucene form).
    """

    def __init__(self, documents: Sequence[Document], *, k1: float = 1.5, b: float = 0.75) -> None:
        if k1 <= 0 or not 0 <= b <= 1:
            raise ValueError(f"k1 is {k1} and b is {b}; k1 is above 0 and b lies in [0, 1]")
        self.documents, self.k1, self.b = tuple(documents), k1, b
        counts = [Counter(words(f"{document.title} {document.text}")) for document in self.documents]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / len(lengths) if lengths else 0.0
        self._saturation = [k1 * (1 - b + b * length / mean) if mean else k1 for length in lengths]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for row, count in enumerate(counts):
            for term, occurrences in count.items():
                self._postings.setdefault(term, []).append((row, occurrences))

    @property
    def digest(self) -> str:
        """A hash of the documents, in order, and of the parameters."""
        return content_id("index", self.k1, self.b, *(document.model_dump_json() for document in self.documents))

    def __len__(self) -> int:
        return len(self.documents)

    def search(self, query: str, limit: int = 5) -> list[Hit]:
        """At most `limit` documents that share a word with the query, best first."""
        scores: dict[int, float] = {}
        for term, times in sorted(Counter(words(query)).items()):
            found = self._postings.get(term, ())
            rarity = math.log1p((len(self) - len(found) + 0.5) / (len(found) + 0.5))
            for row, occurrences in found:
                scores[row] = scores.get(row, 0.0) + times * rarity * occurrences / (occurrences + self._saturation[row])
        best = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
        return [Hit(row, self.documents[row], scores[row]) for row in best]


def sentences(text: str) -> list[str]:
    """The sentences of a text, by punctuation alone; fast, and blind to abbreviations."""
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def excerpt(text: str, query: str, characters: int) -> str:
    """The part of a text, of at most `characters`, that holds most words of the query: whole sentences, or a cut one."""
    if characters < 1:
        raise ValueError(f"characters is {characters}; an excerpt needs at least one")
    if len(text) <= characters:
        return text.strip()
    parts, wanted = sentences(text), set(words(query))
    best, most = "", -1
    for start in range(len(parts)):
        end, length = start, 0
        while end < len(parts) and length + len(parts[end]) + (end > start) <= characters:
            length += len(parts[end]) + (end > start)
            end += 1
        piece = " ".join(parts[start:end]) or _cut(parts[start], characters)
        held = len(wanted & set(words(piece)))
        if held > most:
            best, most = piece, held
    return best


def _cut(sentence: str, characters: int) -> str:
    """The beginning of a sentence, up to the end of a word where there is one."""
    piece = sentence[:characters]
    return piece if sentence[characters : characters + 1].isspace() else piece.rpartition(" ")[0] or piece
