"""The fits of `arbgraph-small`: oracles by hand, features left out, and nothing of a question in the weights that judge it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from arbgraph.checkpoint import find_checkpoint
from arbgraph.schema import Query
from arbgraph.splits import fold_of
from arbgraph.systems.small.credibility import PARTS, CredibilitySettings
from arbgraph.systems.small.evidence import Testimony
from tests.reader.sets import document, row, write
from train import answer_credibility as module
from train import answer_evidence
from train.answer_credibility import Rows, fit_logistic
from train.answer_evidence import PENALTY, Shrinkage, fit_softmax, shrinkage
from train.data.disputes import AMPLIFIED, RAMDOCS, DisputedQuestion, disputed_questions


def test_a_softmax_without_penalty_finds_the_odds_of_the_right_rows():
    """Two rows a document, one feature that marks the first: it is right in three of four, so its weight is log 3."""
    document = np.array([[1.0], [0.0]])
    used = [(document, np.array([1.0, 0.0] if number < 3 else [0.0, 1.0]), 1.0) for number in range(4)]
    [weight] = fit_softmax(used, Shrinkage(0.0, np.ones(1)))
    assert weight == pytest.approx(np.log(3), abs=1e-3)


def test_weights_of_questions_count():
    """The same with the odd one counted three times: the odds are even."""
    document = np.array([[1.0], [0.0]])
    used = [(document, np.array([1.0, 0.0]), 1.0)] * 3 + [(document, np.array([0.0, 1.0]), 3.0)]
    [weight] = fit_softmax(used, Shrinkage(0.0, np.ones(1)))
    assert weight == pytest.approx(0, abs=1e-3)


def test_a_logistic_fit_is_that_of_an_independent_solver():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    y = (rng.random(300) < 1 / (1 + np.exp(-x @ np.array([1.0, -2.0, 0.5, 0.0])))).astype(float)
    penalty = 1e-2
    # Ours is the mean loss plus penalty |w|^2; theirs C times the sum plus |w|^2 / 2.
    other = linear_model.LogisticRegression(C=1 / (2 * penalty * len(y)), fit_intercept=False, tol=1e-10).fit(x, y)
    ours = fit_logistic(Rows(x, y, np.ones(300)), Shrinkage(penalty, np.ones(4)))
    assert ours == pytest.approx(other.coef_[0], abs=1e-3)


def test_a_feature_that_is_left_out_has_no_weight():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 2))
    rows = Rows(x, (x[:, 0] > 0).astype(float), np.ones(100))
    assert fit_logistic(rows, Shrinkage(1e-2, np.array([0.0, 1.0])))[0] == 0
    assert fit_logistic(rows, Shrinkage(1e-2, np.ones(2)))[0] > 1


def test_features_are_left_out_by_name_in_every_part():
    held = shrinkage(["sources", "support"])
    assert set(held) == set(PARTS) == set(PENALTY)
    for part, names in PARTS.items():
        assert [name for name, kept in zip(names, held[part].keep, strict=True) if not kept] == [
            name for name in names if name in ("sources", "support")
        ]
    with pytest.raises(ValueError, match="'surces'"):
        shrinkage(["surces"])


def test_every_fold_is_scored_by_the_reader_that_has_not_seen_it(monkeypatch):
    """RAMDocs by the readers of folds, other sets by the one that is shipped; without readers of folds, all by that one."""
    asked: dict[str, list[str]] = {}
    monkeypatch.setattr(answer_evidence, "open_scoring", lambda name, cache: name)
    monkeypatch.setattr(answer_evidence, "add_language", lambda name, questions, found: asked.setdefault(str(name), []).extend(questions))
    texts = [f"When did hall {number} open?" for number in range(20)]
    sources = [RAMDOCS if number % 2 else "other" for number in range(20)]
    questions = [
        DisputedQuestion(Query(id=text, query=text, documents=()), source, (), (), frozenset(), True)
        for text, source in zip(texts, sources, strict=True)
    ]
    found: list[list[Testimony]] = [[] for _ in texts]
    answer_evidence.score_by_folds(questions, found, "shipped", "folds", None, 5)
    assert sorted(asked.pop("shipped")) == sorted(text for text, source in zip(texts, sources, strict=True) if source == "other")
    assert {name: {fold_of(text, 5) for text in some} for name, some in asked.items()} == {
        str(Path("folds") / str(fold)): {fold} for fold in {fold_of(text, 5) for text in texts[1::2]}
    }
    asked.clear()
    answer_evidence.score_by_folds(questions, found, "shipped", None, None, 5)
    assert asked == {"shipped": texts}


def test_amplified_questions_of_the_dev_split_are_read(tmp_path):
    rows = [
        row(
            f"Who built hall {number}?",
            [document("By Ann Lee.", "correct", "Ann Lee"), document("By Bo.", "misinfo_amplified", "Bo")],
            ["Ann Lee"],
            ["Bo"],
        )
        | {"id": f"ramdocs-amp-{number}", "meta": {"split": split}}
        for number, split in enumerate(("dev", "test"))
    ]
    write(tmp_path / "ramdocs_amplified" / "data.jsonl.gz", rows)
    [one] = disputed_questions(tmp_path, AMPLIFIED)
    assert one.query.id == "ramdocs-amp-0"
    assert one.stated == ("Ann Lee", "Bo")
    assert (one.label("Ann Lee"), one.label("Bo")) == (1, -1)


def test_settings_are_chosen_on_the_mean_of_plain_and_amplified_questions(monkeypatch):
    """Accepting from 0.05 on is best on the plain ones (0.5 against 0.4) and worst with the copies (0.1 against 0.4)."""

    def matches(cases, settings, graphs):
        low = settings.tau_accept < 0.2
        return ({"plain": 0.5 if low else 0.4, "copies": 0.1 if low else 0.4}[cases[0]], 1.0)

    monkeypatch.setattr(module, "exact_matches", matches)
    plain, reached = module.choose_settings(["plain"], CredibilitySettings(), 3.0)
    assert plain.tau_accept < 0.2
    assert reached == {"em": 0.5, "answers": 1.0}
    both, reached = module.choose_settings(["plain"], CredibilitySettings(), 3.0, ["copies"])
    assert both.tau_accept > 0.2
    assert reached == {"em": 0.4, "answers": 1.0, "em_amplified": 0.4}


CONFIGS = Path(__file__).parents[2] / "configs" / "train" / "answer_credibility"


@pytest.mark.parametrize(("config", "checkpoint"), [("smollm2", "arbgraph-small-smollm2"), ("minilm", "arbgraph-small")])
def test_the_shipped_recipes_are_those_of_the_shipped_checkpoints(config, checkpoint):
    recipe = module.recipe_of(["--config", str(CONFIGS / f"{config}.yaml"), "--data", "DATA"])
    trained = yaml.safe_load((find_checkpoint(checkpoint) / "training.yaml").read_text(encoding="utf-8"))
    # The older checkpoint was written before some of the options were there.
    assert {name: value for name, value in recipe.recorded().items() if name in trained} == trained
    settings = json.loads((find_checkpoint(checkpoint) / "config.json").read_text(encoding="utf-8"))["settings"]
    assert settings.get("retold_cosine", 2.0) == recipe.retold_cosine
    assert settings.get("generative_reader") == recipe.generative_reader


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--without", "[surces]"], "no part has a feature 'surces'"),
        (["--others", "[]"], "ramdocs/data.jsonl.gz: no such file"),
    ],
)
def test_what_a_user_can_cause_ends_in_one_line(tmp_path, flags, message):
    with pytest.raises(SystemExit, match=message):
        module.main(["--data", str(tmp_path), "--out", str(tmp_path / "out"), *flags])
