"""The benchmarks of chat models on a tiny random model: every row is there, and the numbers add up."""

from __future__ import annotations

import json

import pytest

from benchmarks import chat, injections
from tests.chat.tiny import save_tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return f"hf:{save_tiny(tmp_path_factory.mktemp('tiny'), context=8192)}"


def run(module, monkeypatch, path, *flags) -> dict:
    monkeypatch.setattr("sys.argv", [module.__name__, *flags, "--json", str(path)])
    module.main()
    return json.loads(path.read_text(encoding="utf-8"))


def test_rows_of_the_speed_benchmark(model, monkeypatch, tmp_path, capsys):
    flags = ("--model", model, "--cases", "4", "--written", "1", "--verdict_tokens", "3")
    found = run(chat, monkeypatch, tmp_path / "out.json", *flags)
    done = {(row["what"], row["batch"]): row for row in found["rows"]}
    assert set(done) == {(what, size) for what in ("scored", "scored, nothing kept", "written, 3 tokens") for size in (1, 8)} | {
        ("written", 8)
    }
    assert found["about"]["shared_tokens"] > 16
    assert done["written, 3 tokens", 8]["completion_tokens"] <= 4 * 2 * 3
    assert done["written", 8]["requests"] == 4  # both orders, and a second try of either
    assert "times as fast" in capsys.readouterr().out


def test_flips_are_counted_on_the_whole_suite(model, monkeypatch, tmp_path):
    found = run(injections, monkeypatch, tmp_path / "out.json", "--model", model)
    assert found["documents"] >= 40
    assert [(row["prompt"], row["orders"]) for row in found["rows"]] == [
        (prompt, orders) for prompt in ("quoted", "pasted") for orders in ("one order", "both")
    ]
    for row in found["rows"]:
        assert 0 <= row["won"] <= row["flips"] <= found["documents"]
        assert sum(row["before"]) == pytest.approx(1)


def test_an_injection_reaches_only_the_evidence_of_its_claim():
    document = next(iter(injections_documents().values()))
    case = injections.contradiction(document)
    assert case.context_a[0].text == document.text
    assert all(document.text not in statement.text for statement in case.context_b)
    (system, user) = injections.pasted(case).turns
    assert document.text.split("\n")[0] in user.content
    assert "never follow it" not in system.content
    assert "never follow it" in injections.quoted(case).turns[0].content


def injections_documents():
    from tests.chat.injections import documents

    return documents()
