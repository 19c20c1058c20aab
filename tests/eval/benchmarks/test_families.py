"""Every benchmark reads its native format: gold groups, wrong answers, labels beside the query, splits, quirks of the published data."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from arbgraph.io import InputError
from arbgraph.splits import split_of
from eval.benchmarks import Item, UnknownBenchmarkError, benchmarks, open_benchmark
from eval.metrics.table import METRICS
from tests.eval.answering import DATA

NAMES = list(benchmarks())


def load(name: str, split: str | None = None) -> list[Item]:
    return open_benchmark(name).load(DATA, split)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_says_what_it_is_and_hides_what_a_system_must_not_see(name):
    row = benchmarks()[name]
    assert all((row.title, row.licence, row.behaviour, row.paper, row.splits))
    assert all(metric in METRICS for metric in row.metrics)
    items = row.load(DATA)
    assert items
    for item in items:
        assert set(item.labels) <= {document.id for document in item.query.documents}
        assert set(item.answers) <= {document.id for document in item.query.documents}
        # Neither label nor answer nor original number of a document stands in what a system gets.
        assert all(not document.metadata for document in item.query.documents)
        assert all(not document.id.startswith(item.query.id) for document in item.query.documents)
        assert all(not any(part in document.id for part in ("misinfo", "correct")) for document in item.query.documents)


def hashed_names() -> list[str]:
    return [name for name, row in benchmarks().items() if row.splits == ("train", "dev", "test") and name != "wikicontradict"]


@pytest.mark.parametrize("name", hashed_names())
def test_data_without_splits_is_split_by_its_questions(name):
    everything = load(name, "all")
    for split in ("train", "test"):
        part = [item.query.id for item in everything if split_of(item.query.query) == split]
        assert part == [item.query.id for item in load(name, split)]
        assert part


def test_ramdocs_takes_the_numbers_of_its_split_file_and_keeps_every_gold_answer_apart():
    first, second, third = load("ramdocs", "test")
    assert first.gold == (("1931",), ("1954",))
    assert first.wrong == ("1913",)
    assert second.wrong == ("84 metres",)
    assert third.gold == (("Girls",), ("Boys",))
    assert sorted(first.labels.values()) == ["correct", "correct", "misinfo", "noise"]
    assert sorted(first.answers.values()) == ["1913", "1931", "1954", "unknown"]
    assert [item.gold for item in load("ramdocs", "dev")] == [(("Ada Quist",),)]
    # The published order is correct, misinfo, noise in every record; that of the items is another one in some.
    orders = [[item.labels[document.id] for document in item.query.documents] for item in (first, second, third)]
    assert any(order[0] != "correct" for order in orders)


def test_amplified_copies_keep_their_label_and_split():
    [item] = load("ramdocs_amplified", "dev")
    assert item.gold == (("Ada Quist",),)
    first = load("ramdocs_amplified")[0]
    assert list(first.labels.values()).count("misinfo_amplified") == 2


def test_rgb_reads_nested_answers_as_groups_of_aliases():
    item = load("rgb_noise04")[0]
    assert item.gold == (("1931", "Ada M. Quist"), ("Rolf Bane",))
    assert load("rgb_counterfactual")[0].gold == (("1931",),)


def test_cagb_removes_the_mark_that_gives_the_fakes_away_and_reads_loose_dates():
    assert all("credibility" not in document.text for item in load("cagb_newspolluted") for document in item.query.documents)
    item = load("cagb_evotemp")[0]
    published = {item.labels[document.id]: document.published for document in item.query.documents}
    assert str(published["correct"]) == "2023-11-06"
    assert published["outdated"] is None
    assert item.metadata["unread_dates"] == ["1 day ago"]


def test_titles_that_tell_the_label_are_left_out():
    assert all(document.title == "" for item in load("conflict_nq", "all") for document in item.query.documents)
    assert any(document.title for item in load("cagb_hotpotqa") for document in item.query.documents)


def test_unanswerable_questions_have_no_gold_answer():
    silent, normal = load("realtimeqa_nota")
    assert (silent.answerable, silent.gold) == (False, ())
    assert (normal.answerable, normal.gold) == (True, (("Ada Quist",),))


def test_questions_on_one_contradiction_share_a_split_and_editors_tags_are_gone():
    parts = {split: [item.metadata["contradiction"] for item in load("wikicontradict", split)] for split in ("test",)}
    # The second question on contradiction 0 would fall into `train` by its own text.
    assert parts["test"] == [0, 0, 1]
    for item in load("wikicontradict"):
        assert item.gold == (("1931",), ("1913",))
        assert all("[" not in document.text for document in item.query.documents)


def test_poisoned_passages_alone_ask_for_silence_and_clean_ones_are_added():
    with_clean, without = load("poisonedrag_nq")
    assert (with_clean.answerable, len(with_clean.query.documents)) == (True, 3)
    assert (without.answerable, len(without.query.documents)) == (False, 2)


def test_robustrag_poisons_one_of_ten_ranked_passages():
    for attacked, clean in zip(load("robustrag_realtimeqa"), load("robustrag_realtimeqa_clean"), strict=True):
        assert len(attacked.query.documents) == len(clean.query.documents) == 10
        assert list(attacked.labels.values()).count("misinfo") == 1
        assert "misinfo" not in clean.labels.values()
        changed = [a != b for a, b in zip(attacked.query.documents, clean.query.documents, strict=True)]
        assert sum(changed) == 1
    biography = load("robustrag_biogen")[0]
    assert biography.gold == ()
    assert biography.reference is not None


def test_longfact_takes_documents_and_facts_where_they_are_given():
    first, second, _ = load("longfact")
    assert len(first.query.documents) == 1
    assert first.facts == ("Ostrava Hill opened in 1931.",)
    assert (second.query.documents, second.facts) == ((), ())


def test_ragchecker_leaves_empty_passages_out_and_counts_them():
    first = load("ragchecker")[0]
    assert first.reference == "Ostrava Hill opened in 1931."
    assert len(first.query.documents) == 1
    assert first.metadata["empty_passages"] == 1


def test_arbitration_cases_take_their_valid_claims_as_facts():
    first = load("arbcases")[0]
    assert first.facts == ("Ostrava Hill opened in 1931.",)
    assert first.query.claims is None


def test_the_order_of_documents_does_not_depend_on_their_order_in_the_file(tmp_path):
    rows = [json.loads(line) for line in (DATA / "cram_misinfo/nq.jsonl").read_text(encoding="utf-8").splitlines()]
    (tmp_path / "cram_misinfo").mkdir()
    backwards = [json.dumps({**row, "documents": row["documents"][::-1]}) for row in rows]
    (tmp_path / "cram_misinfo/nq.jsonl").write_text("\n".join(backwards) + "\n", encoding="utf-8")
    again = open_benchmark("cram_nq").load(tmp_path)
    assert [item.query for item in again] == [item.query for item in load("cram_nq")]
    assert [item.digest for item in again] == [item.digest for item in load("cram_nq")]


def write(folder: Path, *lines: str) -> None:
    (folder / "rgb").mkdir()
    (folder / "rgb/noise04.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 2.*broken JSON"),
        ('{"id": "a", "documents": []}', "line 2: question"),
        ('{"id": "a", "question": "q", "documents": [{"title": "t"}]}', r"line 2: documents\.0\.text"),
        (
            '{"id": "a", "question": "In which year did Lund Quay open?", "documents": [{"text": " "}]}',
            r"line 2: documents\[0\]: text is empty",
        ),
        (
            '{"id": "a", "question": "In which year did Lund Quay open?", "documents": [], "meta": {"answer_groups": 3}}',
            "line 2: meta.answer_groups",
        ),
    ],
)
def test_a_broken_record_is_refused_with_file_and_line(tmp_path, line, reason):
    write(tmp_path, '{"id": "b", "question": "In which year did Lund Quay open?", "documents": []}', line)
    with pytest.raises(InputError, match=rf"noise04\.jsonl: {reason}"):
        open_benchmark("rgb_noise04").load(tmp_path, "all")


def test_an_id_used_twice_is_refused_and_a_repeated_question_is_taken_once(tmp_path):
    one = '{"id": "%s", "question": "In which year did Lund Quay open?", "documents": [{"text": "In 1931."}], "gold_answers": ["1931"]}'
    write(tmp_path, one % "a", one % "a")
    with pytest.raises(InputError, match="'a' is used 2 times"):
        open_benchmark("rgb_noise04").load(tmp_path, "all")
    (tmp_path / "rgb/noise04.jsonl").write_text(f"{one % 'a'}\n{one % 'b'}\n", encoding="utf-8")
    [item] = open_benchmark("rgb_noise04").load(tmp_path, "all")
    assert item.metadata["occurs"] == 2


def test_missing_data_unknown_names_and_splits(tmp_path):
    with pytest.raises(InputError, match=r"ramdocs/data\.jsonl: no such file, nor data\.jsonl\.gz"):
        open_benchmark("ramdocs").load(tmp_path)
    with pytest.raises(InputError, match="no split 'train'; choose one of dev, test, all"):
        load("ramdocs", "train")
    with pytest.raises(UnknownBenchmarkError, match="choose one of ramdocs, "):
        open_benchmark("ramdoc")


# The published data

ROOT = os.environ.get("ARBGRAPH_DATA")
needs_data = pytest.mark.skipif(ROOT is None, reason="set ARBGRAPH_DATA to the folder of the published benchmark data")


@needs_data
def test_ramdocs_oracles_reproduce():
    """Answers of the correct documents reach 82.8 EM, those of all but noise 41.0, the single most frequent answer 19.0."""
    from collections import Counter

    from eval.metrics.table import Scored, score

    assert ROOT is not None
    items = open_benchmark("ramdocs").load(ROOT, "all")
    assert len(items) == 500

    def em(choose) -> float:
        found = score([Scored(item.query.id, item.gold, item.wrong, predicted=choose(item)) for item in items], ["em_strict"])
        value = found.means["em_strict"].value
        assert value is not None
        return round(100 * value, 1)

    def of(item: Item, *labels: str) -> list[str]:
        return [answer for document, answer in item.answers.items() if item.labels[document] in labels]

    assert em(lambda item: of(item, "correct")) == 82.8
    assert em(lambda item: of(item, "correct", "misinfo")) == 41.0
    assert em(lambda item: [a for a, _ in Counter(of(item, "correct", "misinfo")).most_common(1)]) == 19.0


@needs_data
@pytest.mark.parametrize("name", NAMES)
def test_published_data_reads(name):
    assert ROOT is not None
    row = open_benchmark(name)
    if not (Path(ROOT) / row.folder).is_dir():
        pytest.skip(f"{ROOT} has no folder {row.folder}")
    assert all(item.query.query for item in row.load(ROOT, "all"))
