"""Natural neutral pairs from passages small enough to read."""

from __future__ import annotations

import gzip
import json

import pytest

from arbgraph.extraction.syntactic import SyntacticExtractor
from arbgraph.schema import Document, Query
from train.data.neighbours import command_line, neutral_pairs

TEXT = (
    "The Skarra lighthouse was built in 1884. The Skarra lighthouse was built in 1884 by the harbour board. "
    "The Skarra lighthouse stands on a rock. Bananas are rich in potassium."
)


@pytest.fixture(scope="module")
def extractor():
    return SyntacticExtractor()


def test_similar_claims_pair_and_restatements_and_strangers_do_not(encoder, extractor):
    query = Query(id="q", query="?", documents=(Document(id="d", text=TEXT),))
    pairs = list(neutral_pairs(query, extractor, encoder, 0.45, 0.99))
    texts = [{row["premise"], row["hypothesis"]} for row in pairs]
    assert {"The Skarra lighthouse was built in 1884.", "The Skarra lighthouse stands on a rock."} in texts
    assert not any("Bananas" in text for pair in texts for text in pair)
    assert not any(all("1884" in text for text in pair) for pair in texts), "one holds all of the other"
    assert all(row["label"] == "neutral" and row["meta"]["same_document"] for row in pairs)
    highest = max(row["meta"]["similarity"] for row in pairs)
    assert len(list(neutral_pairs(query, extractor, encoder, 0.45, highest - 0.001))) < len(pairs)


def test_the_command_is_reproducible_and_refuses_bad_records(tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": "q", "query": "?", "documents": [{"id": "d", "text": TEXT}]}) + "\n", encoding="utf-8")
    outs = [tmp_path / "1.jsonl.gz", tmp_path / "2.jsonl.gz"]
    # As `make train-verifier` writes it, and with a list.
    for documents, out in zip((str(source), f"[{source}]"), outs, strict=True):
        command_line(["--documents", documents, "--pairs", "1", "--out", str(out)])
    rows = [gzip.decompress(out.read_bytes()) for out in outs]
    assert rows[0] == rows[1]
    assert len(rows[0].splitlines()) == 1
    source.write_text('{"query": "?"}\n', encoding="utf-8")
    with pytest.raises(SystemExit, match=r"error: .*documents"):
        command_line(["--documents", str(source), "--out", str(outs[0])])
