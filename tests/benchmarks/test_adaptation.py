from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml

from arbgraph.verifier.pairs import file_rows
from benchmarks.adaptation import CONFIG, configure, few_shot_files, main, of_healthver


@pytest.fixture
def healthver(tmp_path: Path) -> Path:
    """Dev and test rows over 20 evidence texts that both splits share, with claims of their own."""
    (tmp_path / "healthver").mkdir()
    for split in ("dev", "test"):
        rows = [
            {"premise": f"Evidence  {evidence}.", "hypothesis": f"Claim {split} {evidence} {claim}", "label": "neutral"}
            for evidence in range(20)
            for claim in range(4)
        ]
        with gzip.open(tmp_path / "healthver" / f"{split}.jsonl.gz", "wt", encoding="utf-8") as stream:
            stream.write("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_few_shots_share_nothing_with_the_rows_scored(healthver: Path) -> None:
    files = few_shot_files(healthver, healthver / "out")
    fit, dev, test = ([*file_rows(files[part])] for part in ("fit", "dev", "test"))
    assert fit
    assert dev
    assert test
    for side in ("premise", "hypothesis"):
        assert not {row[side] for row in fit + dev} & {row[side] for row in test}
    assert not {row["hypothesis"] for row in fit} & {row["hypothesis"] for row in dev}
    # Half of the evidence on either side, none lost: 20 texts, 4 rows each.
    assert len(fit) + len(dev) + len(test) == 80
    assert all("Claim test" in row["hypothesis"] for row in test)
    assert not any("Claim test" in row["hypothesis"] for row in fit + dev)


def test_the_replay_is_as_large_as_the_domain(tmp_path: Path) -> None:
    recipe = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    before = json.dumps(recipe)
    options = {"checkpoint": "verifier-minilm", "data": tmp_path, "epochs": 2}
    config = configure(recipe, tmp_path / "run", rows=600, replay=True, **options)
    domain, *general = config["data"]["train"]
    assert domain["cap"] == 600
    assert sum(source["weight"] * source["cap"] for source in general) == pytest.approx(600)
    assert config["model"]["init_from"] == "verifier-minilm"
    assert len(configure(recipe, tmp_path / "run", rows=600, replay=False, **options)["data"]["train"]) == 1
    assert json.dumps(recipe) == before


def test_healthver_takes_the_place_of_covid_fact() -> None:
    recipe = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    config = of_healthver(recipe, {"fit": "F", "dev": "D", "test": "T"})
    assert config["data"]["train"][0]["path"] == "F"
    assert config["data"]["train"][1:] == recipe["data"]["train"][1:]
    assert config["data"]["dev"][0]["path"] == "D"
    monitors = [callback["init_args"].get("monitor") for callback in config["trainer"]["callbacks"]]
    assert "dev/healthver/macro_f1" in monitors
    assert "covid_fact" not in json.dumps(config["data"])


def test_one_number_of_epochs_per_size(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--rows has 2 numbers and --epochs 1"):
        main(str(tmp_path), rows=(1, 2), epochs=(1,))
