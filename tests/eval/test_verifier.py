from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from arbgraph.checkpoint import describe
from arbgraph.schema import CONTRADICT, NEUTRAL, SUPPORT
from arbgraph.verifier import RelationVerifier
from eval.pair_sets import read_sets
from eval.verifier import baseline_names, evaluate, full_report, group_means, main, wins
from tests.verifier.conftest import PAIRS, tiny_base, tiny_checkpoint

__all__ = ["tiny_base", "tiny_checkpoint"]

LABELS = ["contradict", "support", "neutral", "neutral", "support"]


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rows = [{"premise": a, "hypothesis": b, "label": label} for (a, b), label in zip(PAIRS, LABELS, strict=True)]
    typed = [{**row, "category": "numbers" if number < 2 else "other"} for number, row in enumerate(rows)]
    two_way = [row for row in rows if row["label"] != "neutral"]
    write(tmp_path / "plain" / "dev.jsonl", rows)
    return [
        write(tmp_path / "plain" / "test.jsonl", rows),
        write(tmp_path / "typed" / "dev.jsonl", typed),
        write(tmp_path / "two" / "test.jsonl", two_way),
    ]


def test_full_report_by_hand() -> None:
    probabilities = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.3, 0.6], [0.2, 0.7, 0.1], [0.45, 0.4, 0.15]])
    gold = torch.tensor([SUPPORT, CONTRADICT, CONTRADICT, CONTRADICT])
    report = full_report(probabilities, gold)
    assert report["accuracy"] == 0.5
    # Between the two labels that occur: right, right (0.3 over 0.1), right, wrong.
    assert report["forced_accuracy"] == 0.75
    # Support 0.5 against 0.1, 0.2, 0.45: above all. Contradiction 0.3, 0.7, 0.4 against 0.2: above it every time.
    assert report["auroc"] == {"support": 1.0, "contradict": 1.0, "neutral": None}
    # Confidence 0.7 right, 0.6 wrong, 0.5 right, 0.45 wrong: risks 0, 1/2, 1/3, 1/2.
    assert report["aurc"] == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert "forced_accuracy" not in full_report(probabilities, torch.tensor([0, 1, 2, 0]))


def test_evaluation_agrees_with_the_verifier(files: list[str], tiny_checkpoint: Path) -> None:
    verifier = RelationVerifier.load(tiny_checkpoint)
    results, scores = evaluate(verifier, read_sets(files), groups={"both": ["plain/test", "typed/dev"], "more": ["typed/dev", "x/y"]})
    assert list(results["sets"]) == ["plain/test", "typed/dev", "two/test"]
    gold = torch.tensor([CONTRADICT, SUPPORT, NEUTRAL, NEUTRAL, SUPPORT])
    for name, probabilities in (("directed", verifier.directed(PAIRS)), ("combined", verifier.relate(PAIRS))):
        expected = float((probabilities.argmax(-1) == gold).double().mean())
        assert results["sets"]["plain/test"][name]["accuracy"] == pytest.approx(expected)
        torch.testing.assert_close(getattr(scores[0], name).float(), probabilities, atol=1e-5, rtol=0)
    backward = verifier.directed([(b, a) for a, b in PAIRS]).argmax(-1)
    changed = float((verifier.directed(PAIRS).argmax(-1) != backward).double().mean())
    assert results["sets"]["plain/test"]["order_sensitivity"] == {"raw": pytest.approx(changed), "combined": 0.0}
    assert set(results["sets"]["typed/dev"]["categories"]) == {"numbers", "other"}
    assert results["sets"]["typed/dev"]["categories"]["numbers"]["combined"]["n"] == 2
    assert "forced_accuracy" in results["sets"]["two/test"]["directed"]
    assert results["groups"]["both"]["directed"]["accuracy"] == pytest.approx(results["sets"]["plain/test"]["directed"]["accuracy"])
    assert results["groups"]["more"] == {"sets": 2, "missing": ["x/y"]}


def test_truncation_is_counted_per_set(tmp_path: Path, tiny_checkpoint: Path) -> None:
    long = {"premise": "word " * 100, "hypothesis": "A claim.", "label": "neutral"}
    short = {"premise": "Rain.", "hypothesis": "Sun.", "label": "neutral"}
    sets = read_sets([write(tmp_path / "s" / "long.jsonl", [long, short]), write(tmp_path / "s" / "short.jsonl", [short])])
    results, _ = evaluate(RelationVerifier.load(tiny_checkpoint), sets)
    # One pair, read in both orders.
    assert [result["truncated"] for result in results["sets"].values()] == [2, 0]
    assert results["truncated"] == 2


def report(accuracy: float, macro: float) -> dict[str, float]:
    return {"accuracy": accuracy, "macro_f1": macro, "ece": 0.1}


def test_groups_and_wins_by_hand() -> None:
    sets = {
        "a": {"directed": report(0.6, 0.5), "combined": report(0.5, 0.4), "baselines": {"cosine": report(0.5, 0.5)}},
        "b": {"directed": report(0.8, 0.7), "combined": report(0.7, 0.6), "baselines": {"cosine": report(0.8, 0.1)}},
    }
    group = group_means(sets, {"g": ["a", "b"]})["g"]
    assert group["directed"] == pytest.approx({"accuracy": 0.7, "macro_f1": 0.6, "ece": 0.1})
    assert group["baselines"]["cosine"] == pytest.approx({"accuracy": 0.65, "macro_f1": 0.3})
    # A tie is no win.
    assert wins(sets, ["a", "b"])["cosine"] == {"accuracy": ["a"], "macro_f1": ["b"]}


def test_command_line(files: list[str], tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    (folder / "README.md").write_text("# copy\n\n## Evaluation\n\nold\n\n## Limits\n\n- some\n", encoding="utf-8")
    config = tmp_path / "eval.yaml"
    config.write_text("groups: {all: [plain/test, typed/dev, two/test]}\nbaselines: [majority, cosine_negation]\n", encoding="utf-8")
    arguments = ["--config", str(config), "--checkpoint", str(folder), "--data", *files, "--json", str(tmp_path / "out" / "r.json")]
    main([*arguments, "--plots", str(tmp_path / "plots"), "--record", "true", "--compare", str(tiny_checkpoint)])
    printed = capsys.readouterr().out
    assert "Beats cosine_negation on" in printed
    assert "after combination: at most 0.000 of a set" in printed
    results = json.loads((tmp_path / "out" / "r.json").read_text(encoding="utf-8"))
    assert results["sets"]["plain/test"]["compared"][str(tiny_checkpoint)]["directed"] == results["sets"]["plain/test"]["directed"]
    assert results["groups"]["all"]["compared"][str(tiny_checkpoint)] == results["groups"]["all"]["directed"]
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == [
        "confusion.png",
        "confusion_both_orders.png",
        "reliability.png",
        "risk_coverage.png",
    ]
    assert describe(folder)["metrics"]["evaluation"] == results
    assert describe(folder)["metrics"]["n"] == 1
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "old" not in card
    assert "| two/test |" in card
    assert card.endswith("## Limits\n\n- some\n")
    RelationVerifier.load(folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--checkpoint", "no-such", "--data", "DATA"], "no such folder, and not shipped"),
        (["--checkpoint", "CHECKPOINT", "--data", "missing.jsonl"], "missing.jsonl: no such file"),
        (["--checkpoint", "CHECKPOINT", "--data", "DATA", "DATA"], "given twice"),
        (["--checkpoint", "CHECKPOINT", "--data", "DATA", "--baselines", "cosin"], "cosin: unknown; choose true or some of majority"),
        (["--checkpoint", "CHECKPOINT", "--data", "DATA", "--columns", '{"label": "gold"}'], "no column gold"),
    ],
)
def test_user_errors_are_one_line(files: list[str], tiny_checkpoint: Path, arguments: list[str], message: str) -> None:
    known = {"DATA": files[0], "CHECKPOINT": str(tiny_checkpoint)}
    with pytest.raises(SystemExit) as caught:
        main([known.get(argument, argument) for argument in arguments])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"premise": "A.", "hypothesis": " ", "label": "neutral"}, "row 1: text b is empty"),
        ({"premise": "A.", "hypothesis": "B.", "label": "conflicting"}, "label 'conflicting' is unknown"),
        ({"left": "A.", "right": "B.", "label": "neutral"}, "no column premise or claim_a"),
    ],
)
def test_bad_rows_name_file_and_row(tmp_path: Path, tiny_checkpoint: Path, row: dict[str, str], message: str) -> None:
    file = write(tmp_path / "bad" / "x.jsonl", [row])
    with pytest.raises(SystemExit) as caught:
        main(["--checkpoint", str(tiny_checkpoint), "--data", file])
    assert message in str(caught.value)
    assert file in str(caught.value)


def test_columns_can_be_mapped(tmp_path: Path, tiny_checkpoint: Path) -> None:
    file = write(tmp_path / "mapped" / "x.jsonl", [{"left": "A dog.", "right": "A cat.", "gold": "entailment"}])
    columns = '{"a": "left", "b": "right", "label": "gold"}'
    main(["--checkpoint", str(tiny_checkpoint), "--data", file, "--columns", columns, "--json", str(tmp_path / "r.json")])
    results = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert results["sets"]["mapped/x"]["directed"]["per_class"]["support"]["support"] == 1


def test_baseline_names() -> None:
    assert baseline_names([]) == baseline_names(["false"]) == []
    assert len(baseline_names(["true"])) == 5
    assert baseline_names(["cosine", "majority"]) == ["majority", "cosine"]


def test_thresholds_change_the_decided_labels(files: list[str], tiny_checkpoint: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    high = {"thresholds": {"support": 1.0, "contradict": 1.0}, "tau_conf": 0.9, "precision": 1.0, "recall": 0.1, "beta": 0.5}
    config["calibration"]["decision"] = high
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    verifier = RelationVerifier.load(folder)
    assert verifier.describe()["calibration"]["decision"] == high
    results, _ = evaluate(verifier, read_sets(files[:1]))
    # Nothing reaches 1, so all is neutral: two of five.
    assert results["sets"]["plain/test"]["thresholds"]["accuracy"] == pytest.approx(2 / 5)
    plain, _ = evaluate(RelationVerifier.load(tiny_checkpoint), read_sets(files[:1]))
    assert "thresholds" not in plain["sets"]["plain/test"]
    assert math.isclose(plain["sets"]["plain/test"]["combined"]["ece"], results["sets"]["plain/test"]["combined"]["ece"])
