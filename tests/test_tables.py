"""Tables as claim graphs: reading, normal forms, counts of what was dropped, and labels."""

from __future__ import annotations

import gzip
import json
import math

import pytest
import torch

from arbgraph.io import InputError
from arbgraph.tables import CERTAINTY, Columns, Row, build_table, read_rows
from arbgraph.values import clock, day, infer_kind, normalise, number, overlap, specificity, surnames

# Values

NUMBERS = [
    ("1,850,230", 1850230), ("48.0", 48), ("-3.5 %", -3.5), ("$12", 12), ("1e3", 1000), (".5", 0.5), ("20°", 20), ("1 234 567", 1234567),
    ("12 kg", None), ("C12", None), ("12A", None), ("", None), ("about 5", None), ("1,23", None), ("-", None), ("1e999", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_numbers(text, value):
    assert number(text) == value


@pytest.mark.parametrize(("text", "minutes"), [("9:10 PM", 1270), ("12:05 am", 5), ("21:10", 1270), ("24:00", None), ("9:75", None)])
def test_times_of_day(text, minutes):
    assert clock(text) == minutes


@pytest.mark.parametrize("text", ["2011-11-19", "19 November 2011", "Nov 19, 2011", "November 19, 2011"])
def test_dates_in_several_forms_are_one_value(text):
    assert day(text).isoformat() == "2011-11-19"
    assert normalise(text, "date") == "2011-11-19"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Knuth, Donald E.", ("knuth",)),
        ("Donald E. Knuth", ("knuth",)),
        ("Yacht, Carol ;  Crosson, Susan ;", ("crosson", "yacht")),
        ("Susan Crosson and Carol Yacht", ("crosson", "yacht")),
        ("Carol Yacht, Susan Crosson", ("crosson", "yacht")),
        ("O'Leary, Timothy J. & Smith, John Jr.", ("oleary", "smith")),
        (" ; ", ()),
    ],
)
def test_author_lists(text, names):
    assert surnames(text) == names


@pytest.mark.parametrize(
    ("text", "kind", "form"),
    [
        ("  New   York. ", "plain", "new york"),
        ("48.00", "number", "48"),
        ("0.10", "number", "0.1"),
        ("n/a", "number", "n/a"),
        ("9:10 PM", "time", "21:10"),
        ("B. Smith; A. Jones", "names", "jones | smith"),
        ("  ", "plain", None),
        ("...", "plain", None),
    ],
)
def test_normal_forms(text, kind, form):
    assert normalise(text, kind) == form
    if form is not None:
        assert normalise(form, kind) == form


def test_inferred_kinds():
    assert infer_kind(["0", "1"] * 20, 20) == "category"
    assert infer_kind(["0", "1"], 2) == "number"
    assert infer_kind(["9:10", "10:11 pm"], 2) == "time"
    assert infer_kind([f"{i} May 1990" for i in range(1, 20)], 19) == "date"
    assert infer_kind([str(i * 7) for i in range(50)] + ["none"], 51) == "number"
    assert infer_kind([str(i * 7) for i in range(5)] + ["none"], 6) == "plain"
    assert infer_kind([""], 1) == "plain"


def test_similarity_and_specificity():
    assert overlap("jones | smith", "smith", "names") == 0.5
    assert overlap("new york city", "new york", "plain") == 2 / 3
    assert overlap("0", "1", "category") == 0
    assert [specificity(*v) for v in (("jones | smith", "names"), ("1200", "number"), ("1234.5", "number"), ("a b", "plain"))] == [
        2,
        2,
        5,
        2,
    ]


# Graphs


def rows(*quadruples: tuple[str, str, str, str]) -> list[Row]:
    return [Row(*q) for q in quadruples]


ROWS = rows(
    ("oslo", "people", "a", "700,000"),
    ("oslo", "people", "b", "700000"),
    ("oslo", "people", "c", "650000"),
    ("rome", "people", "a", "2800000"),
    ("rome", "people", "a", "2800000"),
    ("rome", "people", "d", ""),
    ("oslo", "mayor", "b", "Ann Lie"),
    ("oslo", "mayor", "c", "ann lie"),
    ("oslo", "mayor", "a", "Bo Dahl"),
)
TRUTH = rows(("oslo", "people", "", "700000"), ("paris", "people", "", "2"), ("rome", "people", "", "5"), ("oslo", "area", "", "5"))


def test_a_table_by_hand():
    table = build_table(ROWS, TRUTH)
    graph = table.graph
    assert table.items == [("oslo", "mayor"), ("oslo", "people"), ("rome", "people")]
    assert table.value == ["ann lie", "bo dahl", "650000", "700000", "2800000"]
    assert table.kinds == {"mayor": "plain", "people": "number"}
    assert table.item.tolist() == [0, 0, 1, 1, 2]
    assert table.sources == ["a", "b", "c"]
    assert graph.source_index.T.tolist() == [[0, 1], [0, 2], [1, 0], [2, 2], [3, 0], [3, 1], [4, 0]]
    assert graph.pair_index.T.tolist() == [[0, 1], [2, 3]]
    assert graph.relation[:, 1].tolist() == [CERTAINTY, CERTAINTY]
    # One pair of numbers, so its distance is the scale: exp(-1). No word in common: 0.
    assert graph.similarity.tolist() == pytest.approx([0, math.exp(-1)])
    assert graph["label"].nan_to_num(-1).tolist() == [-1, -1, 0, 1, 0]
    assert table.labelled.tolist() == [False, True, True]
    assert table.diagnostics == {
        "empty_values": 1, "repeated_assertions": 1, "truths_nobody_asserts": 1, "truths_of_unknown_items": 2,
    }  # fmt: skip


def test_verdicts():
    table = build_table(ROWS)
    verdicts = table.verdicts(torch.tensor([0.9, 0.1, 0.5, 0.5, 1.0]))
    assert [(v["value"], v["sources"], v["rivals"]) for v in verdicts] == [
        ("ann lie", 2, ["bo dahl"]),
        ("650000", 1, ["700000"]),
        ("2800000", 1, []),
    ]
    assert len(set(table.claim_ids())) == 5


def test_the_order_of_rows_does_not_matter():
    one, other = build_table(ROWS, TRUTH), build_table(ROWS[::-1], TRUTH[::-1])
    assert (one.value, one.items, one.sources, one.diagnostics) == (other.value, other.items, other.sources, other.diagnostics)
    for name in ("source_index", "pair_index", "similarity", "relation", "specificity"):
        assert torch.equal(one.graph[name], other.graph[name])


def test_tolerance_merges_numbers_under_the_most_asserted_one():
    data = rows(*(("x", "t", s, v) for s, v in (("a", "10"), ("b", "10.4"), ("c", "10.4"), ("d", "11.2"), ("e", "12"))))
    table = build_table(data, rows(("x", "t", "", "12.1")), kinds="number", tolerance=1.0)
    # 10 and 10.4 lie within 1 of 10; 11.2 and 12 within 1 of 11.2. 12.1 is nearest to the second group, at a distance of 0.9.
    assert table.value == ["10.4", "11.2"]
    assert table.graph.sources.tolist() == [3, 2]
    assert table.graph["label"].tolist() == [0, 1]
    assert table.diagnostics["merged_values"] == 2


def test_all_categories_become_candidates():
    data = rows(*((str(i), "label", "w", str(i % 2)) for i in range(10)))
    assert build_table(data).kinds == {"label": "category"}
    complete = build_table(data, rows(("0", "label", "", "1")), all_categories=True)
    assert complete.graph.prior.numel() == 20
    assert complete.graph["category"].tolist() == [0, 1] * 10
    assert complete.graph.sources[:2].tolist() == [1, 0]
    assert complete.graph["label"][:2].tolist() == [0, 1]
    assert complete.diagnostics == {"truths_nobody_asserts": 1}


def test_partial_agreement_moves_contradiction_to_support():
    data = rows(("x", "n", "a", "new york city"), ("x", "n", "b", "new york"))
    relation = build_table(data, partial_agreement=True).graph.relation[0]
    assert relation.tolist() == pytest.approx([CERTAINTY * 2 / 3, CERTAINTY / 3, 1 - CERTAINTY])


def test_sources_with_one_or_several_assertions_are_counted():
    table = build_table(rows(("x", "n", "a", "p"), ("x", "n", "a", "q"), ("x", "n", "b", "p")))
    assert table.diagnostics == {"several_values_of_one_source": 1, "sources_with_one_assertion": 1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: build_table(ROWS, kinds={"size": "number"}), "'size'.*'mayor', 'people'"),
        (lambda: build_table(rows(("x", "n", "a", " "))), "no value that is not empty"),
        (lambda: build_table(ROWS, [*TRUTH, Row("oslo", "people", "", "650000")]), "more than one value"),
        (lambda: build_table([Row("x", "n", "a", f"v{i}") for i in range(2001)], kinds="plain"), "2001 different values"),
    ],
)
def test_bad_tables(make, message):
    with pytest.raises(InputError, match=message):
        make()


# Files

TEXT = "object,attribute,source,value\nx,n,a,1\nx,n,b,\n"


def test_formats_agree(tmp_path):
    expected = [Row("x", "n", "a", "1"), Row("x", "n", "b", "")]
    (tmp_path / "t.csv").write_text(TEXT, encoding="utf-8-sig")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "t.tsv").write_text(TEXT.replace(",", "\t"), encoding="utf-8")
    records = [{"object": "x", "attribute": "n", "source": s, "value": v} for s, v in (("a", 1), ("b", None))]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n\n", encoding="utf-8")
    for name in ("t.csv", "t.csv.gz", "t.tsv", "t.jsonl"):
        assert read_rows(tmp_path / name) == expected
    (tmp_path / "mine.csv").write_text("thing,site,claim\nx,a,1\n", encoding="utf-8")
    columns = Columns(object="thing", attribute=None, source="site", value="claim")
    assert read_rows(tmp_path / "mine.csv", columns) == [Row("x", "claim", "a", "1")]
    assert read_rows(tmp_path / "mine.csv", columns, truth=True) == [Row("x", "claim", "", "1")]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"object": ["x"], "attribute": ["n"], "source": ["a"], "value": [1]}), tmp_path / "t.parquet")
    assert read_rows(tmp_path / "t.parquet") == [Row("x", "n", "a", "1")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"object,source,value\nx,a,1\n", "line 2: no column 'attribute'; there are 'object', 'source', 'value'"),
        ("t.csv", b"object,attribute,source,value\nx,n,,1\n", "line 2: column 'source' is empty"),
        ("t.csv", b"object,attribute,source,value\nx,n,a,1,2\n", "line 2: has not as many fields as the header"),
        ("t.csv", b"object,attribute,source,value\nx,n\n", "line 2: has not as many fields as the header"),
        ("t.csv", b"object,attribute,source,value\n", "holds no rows"),
        ("t.csv", b"object\xff", "not UTF-8"),
        ("t.csv.gz", b"\x1f\x8bbroken", "cannot be read"),
        ("t.jsonl", b"{\n", "line 1: broken JSON"),
        ("t.jsonl", b"[1]\n", "expected an object of columns, found list"),
        ("t.xlsx", b"", "the name must end in"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_rows(tmp_path / name)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_rows(tmp_path / "t.csv")
