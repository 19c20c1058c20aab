"""Building arbitration records: verdicts that follow from the evidence, parts that share nothing, errors that name their place."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from arbgraph.arbitrator.cases import Statement
from arbgraph.arbitrator.records import ArbitrationRecord, read_arbitration_records
from arbgraph.chat.prompts import DECISION
from arbgraph.independence import is_copied_quote
from arbgraph.io import InputError
from arbgraph.schema import ArbitratedClaim, Arbitration, Decision, Mention, Relation, RelationLabel, SourceDocument
from arbgraph.splits import split_of
from train.data.arbitration.__main__ import main
from train.data.arbitration.build import ArbitrationRecipe, BuildError, build, draw_records
from train.data.arbitration.decisions import distilled
from train.data.arbitration.material import ordered
from train.data.arbitration.situations import SITUATIONS
from train.data.arbitration.texts import TextSource, read_stock

RECIPE = ArbitrationRecipe(seed=5)


@pytest.fixture(scope="module")
def records() -> list[ArbitrationRecord]:
    return draw_records(RECIPE, 900, "train", [])


def sides(record: ArbitrationRecord) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """The contexts of winner and loser; as they stand where there is no winner."""
    return (record.context_b, record.context_a) if record.winner == "b" else (record.context_a, record.context_b)


def sources(context: tuple[Statement, ...]) -> int:
    return len({statement.group for statement in context})


def of_type(records: list[ArbitrationRecord], name: str) -> list[ArbitrationRecord]:
    chosen = [record for record in records if record.type == name]
    assert len(chosen) >= 30
    return chosen


def test_one_seed_gives_one_set_and_another_seed_another() -> None:
    first, again = (draw_records(RECIPE, 40, "train", []) for _ in range(2))
    assert first == again
    assert first != draw_records(ArbitrationRecipe(seed=6), 40, "train", [])


def test_quotas_and_balance_of_the_sides(records: list[ArbitrationRecord]) -> None:
    counts = Counter(record.type for record in records)
    assert counts.total() == 900
    for name, situation in SITUATIONS.items():
        assert abs(counts[name] - 900 * situation.share) <= len(SITUATIONS)
    winners = Counter(record.winner for record in records)
    assert abs(winners["a"] - winners["b"]) < 110  # four standard deviations of a fair coin
    assert winners["unknown"] == sum(counts[name] for name, one in SITUATIONS.items() if not one.decided)


def test_shares_of_a_recipe_replace_the_usual_ones() -> None:
    """Two situations in the proportion 1 to 3 and nothing else; the unit does not matter."""
    none = dict.fromkeys(SITUATIONS, 0.0)
    drawn = draw_records(ArbitrationRecipe(seed=5, shares=none | {"majority": 2, "undecided": 6}), 40, "train", [])
    assert Counter(record.type for record in drawn) == {"majority": 10, "undecided": 30}


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"majorty": 1.0}, "no situation is called majorty; there are majority, copied"),
        ({"majority": -0.1}, "at least 0"),
        (dict.fromkeys(SITUATIONS, 0.0), "not all 0"),
    ],
)
def test_shares_that_cannot_be_are_errors(shares: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArbitrationRecipe(shares=shares)


def test_parts_share_no_record(records: list[ArbitrationRecord]) -> None:
    dev = draw_records(RECIPE, 100, "dev", [])
    assert not {record.key for record in records} & {record.key for record in dev}


def test_the_majority_has_more_independent_sources(records: list[ArbitrationRecord]) -> None:
    for record in of_type(records, "majority"):
        winner, loser = sides(record)
        assert sources(winner) > sources(loser) >= 1
        assert not any(is_copied_quote(s.text, t.text) for n, s in enumerate(winner) for t in winner[:n])


def test_copies_are_as_many_and_still_one_source(records: list[ArbitrationRecord]) -> None:
    noticed = 0
    for record in of_type(records, "copied"):
        winner, loser = sides(record)
        assert len(loser) >= len(winner)
        body = min((statement.text for statement in loser), key=len).rstrip(".")
        assert all(body in statement.text for statement in loser)
        noticed += sources(loser) == 1
    assert noticed > 30


def test_the_newer_statements_win(records: list[ArbitrationRecord]) -> None:
    dated = 0
    for record in of_type(records, "outdated"):
        winner, loser = ([statement.date for statement in side] for side in sides(record))
        if all((*winner, *loser)):
            dated += 1
            assert min(winner) > max(loser)
    assert dated > 10


def test_undecided_records_give_no_side_more_sources_or_later_years(records: list[ArbitrationRecord]) -> None:
    for record in of_type(records, "undecided"):
        assert sources(record.context_a) == sources(record.context_b)
        assert len({statement.date[:4] for statement in (*record.context_a, *record.context_b)} - {""}) <= 2


def test_the_source_that_refutes_itself_stands_last_on_the_right_side(records: list[ArbitrationRecord]) -> None:
    for record in of_type(records, "self_refuting"):
        winner, loser = sides(record)
        shared = {s.group for s in winner} & {s.group for s in loser}
        assert len(shared) == 1
        assert winner[-1].group in shared
        assert winner[0].group not in shared
        (half,) = (s for s in winner if s.group in shared)
        assert (half.title, half.source) in {(s.title, s.source) for s in loser}


def test_namesakes_differ_in_the_place_that_their_titles_give(records: list[ArbitrationRecord]) -> None:
    for record in of_type(records, "namesakes"):
        places = [{statement.title.rpartition(" (")[2] for statement in side} for side in (record.context_a, record.context_b)]
        assert [len(side) for side in places] == [1, 1]
        assert places[0] != places[1]


def test_the_verdict_and_the_type_are_not_in_the_prompt(records: list[ArbitrationRecord]) -> None:
    for record in records[:50]:
        other = record.model_copy(update={"winner": "a" if record.winner != "a" else "b", "type": "none", "origin": "none"})
        assert other.case.messages(DECISION) == record.case.messages(DECISION)


def test_order_of_statements() -> None:
    near, far, again, rival = (
        Statement(text="The pier is 90 m long.", group=0),
        Statement(text="Long ago, ninety metres were measured.", group=1),
        Statement(text="The pier is 90 m long, we hear.", group=0),
        Statement(text="The pier is 90 m.", group=2),
    )
    shown = ordered([rival, again, far, near], "The pier is 90 m long.", rivals=[Statement(text="It is 80 m.", group=2)])
    assert shown == (near, far, again, rival)


def test_what_cannot_be_drawn_is_an_error() -> None:
    with pytest.raises(BuildError, match="400 draws in a row gave nothing new"):
        draw_records(ArbitrationRecipe(max_chars=20), 10, "train", [])


def pair_rows() -> list[dict]:
    rows = []
    for number in range(12):
        page, claims, evidence = (
            f"Pier {number}",
            ["The pier is 90 m long.", "The pier is 80 m long."],
            ["It has 90 m of deck.", "It has 80 m of deck."],
        )
        for c, claim in enumerate(claims):
            for e, premise in enumerate(evidence):
                label = "support" if c == e else "contradict"
                rows.append({"premise": premise, "hypothesis": claim, "label": label, "meta": {"page": page}})
    return rows


def question_rows(count: int = 40) -> list[dict]:
    def document(answer: str, label: str, number: int) -> dict:
        return {"text": f"Some say nothing. The pier of town {number} is {answer} long. It rains.", "answer": answer, "label": label}

    return [
        {
            "question": f"How long is the pier of town {number}?",
            "documents": [document("90 m", "correct", number), document("80 m", "misinfo", number), document("70 m", "noise", number)],
        }
        for number in range(count)
    ]


def write(path: Path, rows: list[dict]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def test_contrasts_from_pairs(tmp_path: Path) -> None:
    write(
        tmp_path / "pairs.jsonl.gz",
        [*pair_rows(), {"premise": "x y z q", "hypothesis": "a b c d", "label": "support", "meta": {"page": "Q"}}],
    )
    stock = read_stock(TextSource("pairs.jsonl.gz", divided=True, changes=True), tmp_path)
    assert sum(map(len, stock.parts.values())) == 12
    assert stock.dropped["page without contrasting claims"] == 1
    contrast = stock.parts["train"][0]
    assert contrast.texts == (("The pier is 80 m long.", "It has 80 m of deck."), ("The pier is 90 m long.", "It has 90 m of deck."))
    assert contrast.material(Random(0)).changes
    capped = read_stock(TextSource("pairs.jsonl.gz", divided=True, cap=3), tmp_path)
    assert capped.parts["train"] == stock_order(stock.parts["train"])[:3]


def stock_order(contrasts):
    from dataclasses import replace

    source = TextSource("pairs.jsonl.gz", divided=True, cap=3)
    return [replace(contrast, source=source) for contrast in contrasts]


def test_contrasts_from_questions_keep_to_their_part(tmp_path: Path) -> None:
    rows = question_rows()
    write(tmp_path / "questions.jsonl.gz", rows)
    stock = read_stock(TextSource("questions.jsonl.gz"), tmp_path)
    for part in ("train", "dev"):
        assert {contrast.query for contrast in stock.parts[part]} == {row["question"] for row in rows if split_of(row["question"]) == part}
    assert stock.dropped["test part"] == sum(split_of(row["question"]) == "test" for row in rows) > 0
    contrast = stock.parts["train"][0]
    assert contrast.claims[0].endswith("is 90 m long.")
    assert contrast.claims[1].endswith("is 80 m long.")
    assert not contrast.compatible


def test_only_the_named_rows_are_read(tmp_path: Path) -> None:
    write(tmp_path / "questions.jsonl.gz", question_rows())
    (tmp_path / "splits.json").write_text('{"dev": [1, 3], "test": [0, 2]}', encoding="utf-8")
    stock = read_stock(TextSource("questions.jsonl.gz", rows="splits.json", divided=True), tmp_path)
    shown = {contrast.query for contrasts in stock.parts.values() for contrast in contrasts}
    assert shown == {"How long is the pier of town 1?", "How long is the pier of town 3?"}
    with pytest.raises(InputError, match=r"splits.json: gives no row numbers under 'train'"):
        read_stock(TextSource("questions.jsonl.gz", rows="splits.json", use="train"), tmp_path)


def test_unsettled_answers_are_compatible(tmp_path: Path) -> None:
    rows = question_rows(8)
    for row in rows:
        for document in row["documents"]:
            document["label"] = "disputed"
    write(tmp_path / "questions.jsonl.gz", rows)
    stock = read_stock(TextSource("questions.jsonl.gz", settled=False, divided=True), tmp_path)
    assert all(contrast.compatible for contrasts in stock.parts.values() for contrast in contrasts)


def test_a_file_of_another_format_is_named(tmp_path: Path) -> None:
    write(tmp_path / "other.jsonl.gz", [{"text": "x"}])
    with pytest.raises(InputError, match=r"other\.jsonl\.gz: line 1: neither a pair"):
        read_stock(TextSource("other.jsonl.gz"), tmp_path)


def arbitration(decisions: list[tuple[str | None, float, int]]) -> Arbitration:
    texts = {"c1": "The pier is 90 m long.", "c2": "The pier is 80 m long.", "c3": "The pier measures 90 metres."}
    home = {"c1": "d1", "c2": "d2", "c3": "d3"}
    claims = tuple(
        ArbitratedClaim(
            id=c, text=t, mentions=(Mention(document_id=home[c], start=0, end=len(t), quote=t),), status="validated", credibility=0.5
        )
        for c, t in texts.items()
    )
    certain = {RelationLabel.SUPPORT: 0.9, RelationLabel.CONTRADICT: 0.05, RelationLabel.NEUTRAL: 0.05}
    against = {RelationLabel.SUPPORT: 0.05, RelationLabel.CONTRADICT: 0.9, RelationLabel.NEUTRAL: 0.05}
    return Arbitration(
        id="q",
        query="How long is the pier?",
        claims=claims,
        relations=(
            Relation(a="c1", b="c2", label=RelationLabel.CONTRADICT, probabilities=against, similarity=0.8),
            Relation(a="c1", b="c3", label=RelationLabel.SUPPORT, probabilities=certain, similarity=0.9),
        ),
        decisions=tuple(Decision(a="c1", b="c2", winner=winner, confidence=sure, gate=1.0, round=turn) for winner, sure, turn in decisions),
        documents=tuple(SourceDocument(id=d, title=f"Title {d}", source_group=n) for n, d in enumerate(("d1", "d2", "d3"))),
    )


def distil(tmp_path: Path, *logs: Arbitration, **options):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(log.model_dump_json() + "\n" for log in logs), encoding="utf-8")
    return distilled(path, **options)


def test_a_decision_becomes_a_record_with_the_evidence_that_it_had(tmp_path: Path) -> None:
    # The last round counts: round 1 said the opposite.
    (record,), counts = distil(tmp_path, arbitration([("c2", 0.9, 1), ("c1", 0.8, 2)]))
    winner = record.claim_a if record.winner == "a" else record.claim_b
    assert winner == "The pier is 90 m long."
    context = record.context_a if record.winner == "a" else record.context_b
    assert [(s.title, s.text) for s in context] == [("Title d1", "The pier is 90 m long."), ("Title d3", "The pier measures 90 metres.")]
    assert counts == {"records": 1}


def test_unsure_decisions_are_left_out_and_counted(tmp_path: Path) -> None:
    logs = [arbitration([("c1", 0.55, 1)]), arbitration([(None, 0.55, 1)]), arbitration([(None, 0.4, 1)])]
    (record,), counts = distil(tmp_path, *logs)
    assert record.winner == "unknown"
    assert counts == {"records": 1, "unsure": 2}
    assert len(distil(tmp_path, *logs, confidence=0.5, doubt=0.3)[0]) == 3


def test_what_is_no_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"id": "q"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: not an arbitration: query"):
        distilled(path)


def test_the_command_writes_both_parts_and_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "pairs.jsonl.gz", pair_rows())
    (tmp_path / "log.jsonl").write_text(arbitration([("c1", 0.8, 1)]).model_dump_json() + "\n", encoding="utf-8")
    recipe = {
        "train_records": 60,
        "dev_records": 20,
        "sources": [{"path": "pairs.jsonl.gz", "licence": "CC0", "name": "piers", "divided": True}],
        "decisions": ["log.jsonl"],
    }
    (tmp_path / "recipe.yaml").write_text(json.dumps({"recipe": recipe}), encoding="utf-8")
    main(["--config", str(tmp_path / "recipe.yaml"), "--data", str(tmp_path), "--out", str(tmp_path / "out")])
    train, dev = (read_arbitration_records(tmp_path / "out" / f"{part}.jsonl") for part in ("train", "dev"))
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert (len(train), len(dev)) == (60, 20) == (report["train"]["records"], report["dev"]["records"])
    assert Counter(record.origin for record in train)["decisions"] == 1
    assert report["sources"][0]["licence"] == "CC0"
    assert report["train"]["by_origin"]["piers"] > 0
    assert "60 train" in " ".join(capsys.readouterr().out.split())


def test_building_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    recipe = ArbitrationRecipe(train_records=30, dev_records=10, seed=2)
    for name in ("one", "two"):
        build(recipe, tmp_path / name)
    for file in ("train.jsonl", "dev.jsonl", "report.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
