"""The spaCy pipeline is loaded once for all extraction tests."""

from __future__ import annotations

import pytest

from arbgraph.extraction.syntactic import SyntacticExtractor
from arbgraph.schema import Document


@pytest.fixture(scope="session")
def extractor() -> SyntacticExtractor:
    return SyntacticExtractor()


@pytest.fixture(scope="session")
def claims_of(extractor: SyntacticExtractor):
    """The claim texts of one document, sorted."""

    def extract(text: str, title: str = "") -> list[str]:
        [extraction] = extractor.extract([[Document(id="d", title=title, text=text)]])
        return sorted(claim.text for claim in extraction.claims)

    return extract


@pytest.fixture(scope="session")
def counts_of(extractor: SyntacticExtractor):
    """What was counted for one document."""

    def extract(text: str, title: str = "") -> dict[str, int]:
        [extraction] = extractor.extract([[Document(id="d", title=title, text=text)]])
        return extraction.counts

    return extract
