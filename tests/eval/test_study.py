"""Study files: what they expand to, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from arbgraph.io import InputError
from eval.ablation import ADJUSTABLE
from eval.study import RunSpec, load_study

STUDIES = sorted(Path("configs/eval/studies").glob("*.yaml"))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_sweep_becomes_a_run_per_value(tmp_path):
    text = "title: t\nreference: base\nruns: {base: {}, bare: {variant: no_graph}}\nsweeps: {budget: [1, null], tau_q: [0.5]}\n"
    assert load_study(write(tmp_path / "s.yaml", text)).expanded() == {
        "base": RunSpec(),
        "bare": RunSpec(variant="no_graph"),
        "budget=1": RunSpec(settings={"budget": 1}),
        "budget=all": RunSpec(settings={"budget": None}),
        "tau_q=0.5": RunSpec(settings={"tau_q": 0.5}),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title: t\nreference: a\nruns: {a: {settings: {tau_w: 1}}}\n", "'tau_w' is no setting"),
        ("title: t\nreference: a\nsweeps: {tau_w: [1]}\n", "'tau_w' is no setting"),
        ("title: t\nreference: b\nruns: {a: {}}\n", "reference 'b' is none of the runs; choose one of a"),
        ("title: t\nreference: a\nruns: {a: {variant: no_luck}}\n", "runs.a.variant"),
        ("title: t\nreference: a\nruns: {a: {setting: {}}}\n", "runs.a.setting"),
        ("title: t\nreference: a\nruns: {a: {variant: no_soft, propagation: crh}}\n", "take one"),
        ("title: t\nreference: a\nbase: {settings: best}\nruns: {a: {}}\n", "base.settings 'best'"),
        ("title: t\nreference: a\nruns: {a: {}}\npublished: [{run: b, metric: FR, value: 1, source: x}]\n", "belongs to run 'b'"),
        ("title: t\nreference: a\nruns: {a: {}, 'tau_q=0.5': {}}\nsweeps: {tau_q: [0.5]}\n", "named twice"),
        ("[", "not valid YAML"),
    ],
)
def test_what_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load_study(write(tmp_path / "s.yaml", text))
    with pytest.raises(InputError, match="cannot be read"):
        load_study(tmp_path / "none.yaml")


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_shipped_studies_change_only_what_can_change(path):
    for spec in load_study(path).expanded().values():
        assert set(spec.settings) <= set(ADJUSTABLE)
