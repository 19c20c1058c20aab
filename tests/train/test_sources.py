from __future__ import annotations

import json
from pathlib import Path

import pytest

from arbgraph.verifier.pairs import PairFileError
from train.data.sources import PairSource


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def hub_folder(folder: Path) -> Path:
    """A folder as the hub stores it: parquet with class labels in the order entailment, neutral, contradiction, and one row without."""
    from datasets import ClassLabel, Dataset, Features, Value

    features = Features(
        {"text1": Value("string"), "text2": Value("string"), "gold": ClassLabel(names=["entailment", "neutral", "contradiction"])}
    )
    rows = {"text1": ["a", "c", "e", "g"], "text2": ["b", "d", "f", "h"], "gold": [2, 0, -1, 1]}
    folder.mkdir()
    Dataset.from_dict(rows, features=features).to_parquet(folder / "validation.parquet")
    return folder


def test_a_hub_dataset_is_read_by_the_names_of_its_labels(tmp_path: Path) -> None:
    columns = {"a": "text1", "b": "text2", "label": "gold"}
    source = PairSource(hub=str(hub_folder(tmp_path / "snli")), split="validation", columns=columns, labels={"-1": "drop"})
    pairs = source.read(tmp_path)
    assert [(pair.a, pair.b, pair.label.value) for pair in pairs] == [
        ("a", "b", "contradict"),
        ("c", "d", "support"),
        ("g", "h", "neutral"),
    ]
    assert (source.name, source.dropped) == ("snli", 1)


def test_offline_is_the_default_and_says_how(tmp_path: Path) -> None:
    with pytest.raises(PairFileError, match=r"hub dataset 'owner/no-such-set', split 'train': .*offline: false"):
        PairSource(hub="owner/no-such-set").read(tmp_path)


def test_a_missing_split_is_an_error(tmp_path: Path) -> None:
    folder = hub_folder(tmp_path / "set")
    with pytest.raises(PairFileError, match="split 'train'"):
        PairSource(hub=str(folder)).read(tmp_path)


def test_label_names_of_a_file(tmp_path: Path) -> None:
    rows = [("a", "b", "Yes"), ("c", "d", "no"), ("e", "f", "unsure"), ("g", "h", "refutes")]
    text = "\n".join(json.dumps({"premise": a, "hypothesis": b, "label": label}) for a, b, label in rows)
    (tmp_path / "set.jsonl").write_text(text, encoding="utf-8")
    own = {"yes": "support", "no": "contradict", "unsure": "drop"}
    source = PairSource("set.jsonl", labels=own)
    assert [pair.label.value for pair in source.read(tmp_path)] == ["support", "contradict", "contradict"]
    assert source.dropped == 1
    del own["unsure"]
    with pytest.raises(PairFileError, match=r"set.jsonl: row 3: label 'unsure' is unknown.*labels: {NAME: support}"):
        PairSource("set.jsonl", labels=own).read(tmp_path)
    with pytest.raises(PairFileError, match="holds no pairs besides 4"):
        PairSource("set.jsonl", labels=dict.fromkeys(("yes", "no", "unsure", "refutes"), "drop")).read(tmp_path)


@pytest.mark.parametrize("options", [{}, {"path": "x.jsonl", "hub": "owner/set"}])
def test_file_or_hub(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="one of path"):
        PairSource(**options)


def test_labels_map_to_relations() -> None:
    with pytest.raises(ValueError, match="labels maps 'yes' to 'good'; map it to one of support, contradict, neutral, drop"):
        PairSource("x.jsonl", labels={"yes": "good"})
