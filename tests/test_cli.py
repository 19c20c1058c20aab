"""The command line on files: output, exit codes, resuming, and every bad input."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arbgraph.cli import main

EXAMPLES = Path(__file__).parent.parent / "examples"
EXAMPLE = EXAMPLES / "reservoir_capacity.json"


@pytest.fixture(autouse=True)
def _one_system(monkeypatch, system):
    """Commands share the session's models: loading them is tested once, in a process of its own."""
    from arbgraph import pipeline

    class Shared(pipeline.ArbGraph):
        def __init__(self, settings=None, **_):
            parts = {"encoder": system.encoder, "verifier": system.verifier, "extractor": system.extractor}
            super().__init__(settings, **parts)

    monkeypatch.setattr(pipeline, "ArbGraph", Shared)


def run(capsys, *arguments) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


def batch_file(path: Path, *names: str) -> Path:
    path.write_text(
        "".join(json.dumps(json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))) + "\n" for name in names), encoding="utf-8"
    )
    return path


def test_the_view_shows_answer_claims_conflicts_and_sources(capsys):
    code, out, _ = run(capsys, "arbitrate", EXAMPLE)
    assert code == 0
    for text in (
        "How much water does the Talvik reservoir hold?",
        "Credible claims",
        "Sources",
        "12 million cubic metres",
        "Water utility",
    ):
        assert text in out


def test_json_output_has_the_documented_shape(capsys, tmp_path):
    target = tmp_path / "out.json"
    code, out, err = run(capsys, "arbitrate", EXAMPLE, "--json", target, "--quiet")
    assert (code, out, err) == (0, "", "")
    (line,) = target.read_text(encoding="utf-8").splitlines()
    row = json.loads(line)
    assert {"id", "query", "claims", "relations", "decisions", "answer", "diagnostics", "settings"} <= row.keys()
    assert {"id", "text", "status", "credibility", "mentions"} <= row["claims"][0].keys()
    assert {"a", "b", "label", "probabilities", "similarity"} <= row["relations"][0].keys()
    assert {"text", "citations"} <= row["answer"].keys()
    texts = {d["id"]: d["text"] for d in json.loads(EXAMPLE.read_text(encoding="utf-8"))["documents"]}
    for claim in row["claims"]:
        assert claim["status"] in ("validated", "suppressed", "filtered")
        assert claim["mentions"]
        for mention in claim["mentions"]:
            assert texts[mention["document_id"]][mention["start"] : mention["end"]] == mention["quote"]
    for citation in row["answer"]["citations"]:
        assert citation["claim_ids"]
        assert citation["document_ids"]
    assert list(tmp_path.iterdir()) == [target]


def test_standard_output_and_gzip_and_two_runs_are_byte_identical(capsys, tmp_path):
    source = batch_file(tmp_path / "in.jsonl", "reservoir_capacity", "two_right_answers")
    first, second, zipped = tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "3.jsonl.gz"
    for target in (first, second, zipped):
        assert run(capsys, "arbitrate", source, "--json", target, "--quiet")[0] == 0
    assert first.read_bytes() == second.read_bytes() == gzip.decompress(zipped.read_bytes())
    main(["arbitrate", str(source), "--json", "-"])
    assert capsys.readouterr().out == first.read_text(encoding="utf-8")


def test_a_killed_run_resumes_and_gives_the_same_bytes(capsys, tmp_path):
    source = batch_file(tmp_path / "in.jsonl", "reservoir_capacity", "two_right_answers", "copied_misinformation")
    whole, target = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    run(capsys, "arbitrate", source, "--json", whole, "--quiet")
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    resume = tmp_path / "out.jsonl.resume"
    resume.write_text(lines[1] + lines[0][:100], encoding="utf-8")
    code, _, err = run(capsys, "arbitrate", source, "--json", target)
    assert code == 0
    assert "resuming: 1 of 3 queries are done" in err
    assert target.read_bytes() == whole.read_bytes()
    assert not resume.exists()


def test_lines_of_other_settings_are_not_reused(capsys, tmp_path):
    target, resume = tmp_path / "out.json", tmp_path / "out.json.resume"
    run(capsys, "arbitrate", EXAMPLE, "--json", target, "--quiet")
    target.rename(resume)
    _, _, err = run(capsys, "arbitrate", EXAMPLE, "--json", target, "--settings", "as_released")
    assert "resuming" not in err
    assert json.loads(target.read_text(encoding="utf-8"))["settings"]["rounds"] == 2


def test_given_claims_skip_extraction(capsys, tmp_path):
    record = {
        "query": "When did the bridge open?",
        "documents": [{"id": "d1", "text": "x"}, {"id": "d2", "text": "y"}],
        "claims": [
            {"id": "c1", "text": "The bridge opened in 1932.", "document_ids": ["d1"]},
            {"id": "c2", "text": "The bridge opened in 1932.", "document_ids": ["d2"]},
        ],
    }
    source, target = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(json.dumps(record), encoding="utf-8")
    assert run(capsys, "arbitrate", source, "--json", target, "--quiet")[0] == 0
    row = json.loads(target.read_text(encoding="utf-8"))
    assert [claim["id"] for claim in row["claims"]] == ["c1", "c2"]
    assert "extraction" not in row["diagnostics"]


@pytest.mark.parametrize(
    ("record", "status"),
    [
        ({"query": "Who?", "documents": []}, "abstained"),
        ({"query": "Who?", "documents": [{"text": "?!"}]}, "abstained"),
        ({"query": "Who painted it?", "documents": [{"text": "Bread prices rose by four percent in Norway in 1986."}]}, "abstained"),
        (
            {"query": "How did bread prices in Norway change?", "documents": [{"text": "Bread prices rose by four percent in Norway."}]},
            "answered",
        ),
        (
            {
                "query": "How did bread prices change?",
                "documents": [{"text": "<html><body><p>Bread prices in Norway rose by four percent.</p></body></html>"}],
            },
            "answered",
        ),
        ({"query": "Prices?", "documents": [{"text": "12 | 44 | 3.5\n13 | 45 | 3.6\n14 | 46 | 3.7"}]}, "abstained"),
    ],
)
def test_thin_input_abstains_or_answers_and_never_fails(capsys, tmp_path, record, status):
    source, target = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(json.dumps(record), encoding="utf-8")
    assert run(capsys, "arbitrate", source, "--json", target)[0] == 0
    row = json.loads(target.read_text(encoding="utf-8"))
    assert row["answer"]["abstained"] == (status == "abstained")
    if record["documents"] and not row["claims"]:
        assert row["failures"]
    assert run(capsys, "show", target)[0] == 0


def test_a_bad_record_is_reported_and_the_others_run(capsys, tmp_path):
    source, target = batch_file(tmp_path / "in.jsonl", "reservoir_capacity"), tmp_path / "out.jsonl"
    with source.open("a", encoding="utf-8") as stream:
        stream.write('{"query": "no documents"}\n{broken\n')
    code, _, err = run(capsys, "arbitrate", source, "--json", target)
    assert code == 2
    assert "line 2" in err
    assert "line 3" in err
    assert "2 of 3 records were refused" in err
    assert len(target.read_text(encoding="utf-8").splitlines()) == 1
    target.unlink()
    code, _, err = run(capsys, "arbitrate", source, "--json", target, "--strict")
    assert code == 2
    assert "line 2" in err
    assert not target.exists()


def test_a_document_beyond_the_limit_is_refused_at_once(capsys, tmp_path):
    source, target = tmp_path / "in.json", tmp_path / "out.json"
    source.write_text(json.dumps({"query": "Who?", "documents": [{"id": "long", "text": "Ann met Bob. " * 1_600_000}]}), encoding="utf-8")
    code, _, err = run(capsys, "arbitrate", source, "--json", target)
    assert code == 2
    assert "(id 'long') has 20,800,000 characters, more than max_document_chars = 2,000,000; split it" in err
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["arbitrate", "nope.json"], "nope.json: no such file"),
        (["arbitrate", EXAMPLE, "--settings", "nope"], "neither a profile"),
        (["arbitrate", EXAMPLE, "--wrong"], "--wrong"),
        (["arbitrate"], "required"),
        ([], 'expected "command" to be one of {arbitrate,answer,systems,show,verify'),
        (["frobnicate"], "frobnicate"),
        (["show"], "name a file"),
        (["show", EXAMPLE], "not an arbitration"),
        (["verify", EXAMPLE], "no usable pair"),
        (["arbitrate", EXAMPLE, "--json", Path(__file__) / "x.json", "--quiet"], "cannot be written"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in out + err


def test_an_unknown_settings_key_and_a_missing_checkpoint(capsys, tmp_path):
    settings = tmp_path / "s.yaml"
    settings.write_text("tau_qq: 0.3\n", encoding="utf-8")
    code, _, err = run(capsys, "arbitrate", EXAMPLE, "--settings", settings)
    assert (code, "did you mean tau_q" in err) == (2, True)
    pairs = tmp_path / "p.jsonl"
    pairs.write_text('{"claim_a": "a", "claim_b": "b"}\n', encoding="utf-8")
    code, _, err = run(capsys, "verify", pairs, "--checkpoint", tmp_path / "nope")
    assert code == 2
    assert "nope" in err


@pytest.mark.parametrize(("file", "change"), [("head.safetensors", b"damaged"), ("config.json", b'{"kind": "SomethingElse"}')])
def test_a_damaged_and_a_foreign_checkpoint_are_refused(capsys, tmp_path, file, change):
    folder, pairs = tmp_path / "checkpoint", tmp_path / "p.jsonl"
    shutil.copytree(EXAMPLES.parent / "checkpoints" / "verifier-minilm", folder)
    (folder / file).write_bytes(change)
    pairs.write_text('{"claim_a": "a", "claim_b": "b"}\n', encoding="utf-8")
    code, out, err = run(capsys, "verify", pairs, "--checkpoint", folder, "--json", tmp_path / "out.jsonl")
    assert code == 2
    assert str(folder) in err.replace(" ", "")
    assert "Traceback" not in out + err
    assert not (tmp_path / "out.jsonl").exists()


def test_verify_adds_labels(capsys, tmp_path):
    pairs, target = tmp_path / "p.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"id": 1, "claim_a": "The bridge opened in 1932.", "claim_b": "The bridge opened in 1945."},
        {"premise": "A man is asleep.", "hypothesis": "A man is sleeping."},
    ]
    pairs.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    code, out, _ = run(capsys, "verify", pairs, "--json", target)
    assert code == 0
    assert "The bridge opened" in out
    results = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    for row, result in zip(rows, results, strict=True):
        assert row.items() <= result.items()
        assert result["label"] == max(result["probabilities"], key=result["probabilities"].get)
        assert sum(result["probabilities"].values()) == pytest.approx(1, abs=1e-4)


def test_show_renders_what_arbitrate_wrote_and_prints_the_schema(capsys, tmp_path):
    target = tmp_path / "out.json"
    _, direct, _ = run(capsys, "arbitrate", EXAMPLE, "--json", target)
    code, again, _ = run(capsys, "show", target)
    assert (code, again) == (0, direct)
    main(["show", "--schema"])
    schema = json.loads(capsys.readouterr().out)
    assert {"claims", "relations", "decisions", "answer"} <= schema["properties"].keys()
    code, out, _ = run(capsys, "show", "--settings")
    assert code == 0
    assert "tau_accept" in out


def test_importing_the_package_loads_no_torch_and_help_stays_light():
    check = "import sys, arbgraph, arbgraph.cli; assert not {'torch', 'transformers', 'spacy', 'lightning', 'wandb'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
    helped = subprocess.run([sys.executable, "-m", "arbgraph.cli", "--help"], check=True, capture_output=True, text=True, encoding="utf-8")
    assert "arbitrate" in helped.stdout


def test_arbgraph_never_imports_training_code():
    forbidden = "{'lightning', 'wandb', 'train', 'eval', 'datasets'}"
    check = f"import sys, arbgraph.pipeline, arbgraph.verifier; assert not {forbidden} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
