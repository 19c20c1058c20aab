"""A generative reader's scores: what is noted of them, what they weigh, and that they are asked for once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from arbgraph.checkpoint import CheckpointError, find_checkpoint
from arbgraph.reader import Answers, Span
from arbgraph.schema import Answer, Document
from arbgraph.systems.small import evidence as small
from arbgraph.systems.small.credibility import Weights
from arbgraph.systems.small.evidence import Testimony, with_language
from arbgraph.systems.small.reading import CachedScoring
from arbgraph.systems.small.rescoring import FEATURES, LEAST_LANGUAGE, LEAST_SUPPORT, features
from arbgraph.systems.small.system import ArbGraphSmall
from tests.systems.small.given import TellingReader, query, weights

TEXT = "Pier Hall opened in May 1971. It was built by Ann Lee."


class TellingScorer:
    """Log-probability -1 for the phrases that it is told of, -3 for no answer and -6 for all others. `scored` counts passages."""

    def __init__(self, *phrases: str) -> None:
        self.phrases, self.scored = phrases, 0

    def score(self, questions: Sequence[str], passages: Sequence[str], phrases: Sequence[Sequence[str]]) -> list[Tensor]:
        self.scored += len(passages)
        return [torch.tensor([-3.0, *(-1.0 if one in self.phrases else -6.0 for one in some)]) for some in phrases]


def evidence() -> list[Testimony]:
    spans = [Span(text, TEXT.index(text), TEXT.index(text) + len(text), score) for text, score in (("1971", 0.6), ("May 1971", 0.2))]
    documents = [Document(text=TEXT, id="a"), Document(text=f"They say that in {1971} it opened. " + "Other words. " * 20, id="b")]
    other = [Span("1971", 17, 21, 0.5)]
    return small.testimonies(documents, [Answers(tuple(spans), 0.2), Answers(tuple(other), 0.5)], [Answers((), 1.0)] * 2, 0.2, ())


def test_probabilities_are_of_the_phrases_and_no_answer() -> None:
    [one, _] = evidence()
    texts = [phrase.text for phrase in one.phrases]
    with_language(one, [-3.0, *(-1.0 if text == "May 1971" else -6.0 for text in texts)])
    odds = np.exp([-3.0, -1.0, *[-6.0] * (len(texts) - 1)])
    assert one.language_no_answer == pytest.approx(odds[0] / odds.sum())
    [month] = [phrase for phrase in one.phrases if phrase.text == "May 1971"]
    assert month.language == pytest.approx(odds[1] / odds.sum())
    assert one.language_no_answer + sum(phrase.language or 0 for phrase in one.phrases) == pytest.approx(1)


def test_features_by_hand() -> None:
    found = evidence()
    before = features("When did Pier Hall open?", found)
    names = [FEATURES.index(name) for name in ("language", "best_language", "language_support", "language_no_answer")]
    assert all((matrix[:, names] == 0).all() for matrix in before)
    for one in found:
        with_language(one, [np.log(0.25), *(np.log(0.75) if phrase.text == "1971" else -50.0 for phrase in one.phrases)])
    after = features("When did Pier Hall open?", found)
    row = 1 + [phrase.text for phrase in found[0].phrases].index("1971")
    values = dict(zip(FEATURES, after[0][row].tolist(), strict=True))
    assert values["language"] == pytest.approx(np.log(0.75 + LEAST_LANGUAGE))
    assert values["best_language"] == 1
    assert values["language_support"] == pytest.approx(np.log(0.75 + LEAST_SUPPORT))
    assert after[0][0][FEATURES.index("language_no_answer")] == pytest.approx(np.log(0.25 + LEAST_LANGUAGE))
    others = [FEATURES.index(name) for name in FEATURES if "language" not in name]
    for one, two in zip(before, after, strict=True):
        np.testing.assert_array_equal(one[:, others], two[:, others])


def test_scores_are_kept_and_only_new_phrases_are_asked_for(tmp_path: Path) -> None:
    cache, found = tmp_path / "cache.jsonl", evidence()
    scorer = TellingScorer("1971")
    first = CachedScoring(scorer, "telling", cache).score(["When?"] * 2, found)
    assert scorer.scored == 2
    again = CachedScoring(scorer, "telling", cache)
    assert again.score(["When?"] * 2, found) == first
    assert scorer.scored == 2
    assert again.score(["Where?"], found[:1]) == first[:1]
    assert scorer.scored == 3
    found[0].phrases.append(replace(found[0].phrases[0], text="Ann Lee"))
    assert again.score(["When?"] * 2, found)[1] == first[1]
    assert scorer.scored == 4
    assert CachedScoring(scorer, "another", cache).score(["When?"] * 2, found[1:] + found[1:]) == [first[1]] * 2


def test_the_system_weighs_them_and_answers_alike_alone_and_in_a_batch(tmp_path: Path) -> None:
    given = weights()
    given = replace(given, parts={**given.parts, "rescoring": {**given.parts["rescoring"], "language": 3.0, "language_no_answer": 3.0}})
    queries = [query("When did Pier Hall open?", TEXT), query("When did Pier Hall open?", TEXT + " Really.", "Nothing to see.")]
    scorer = TellingScorer("May 1971")
    system = ArbGraphSmall(reader=TellingReader("1971"), generative_reader=scorer, weights=given, cache=tmp_path / "cache.jsonl")
    together = system.answer(queries)
    assert [answer.short_answers for answer in together if isinstance(answer, Answer)] == [("May 1971",)] * 2
    assert together == [system.answer([one])[0] for one in queries]
    assert scorer.scored == 3
    assert "TellingScorer" in str(system.describe()["generative_reader"])
    assert ArbGraphSmall(reader=TellingReader("1971"), weights=given).describe()["generative_reader"] is None


def test_a_checkpoint_fitted_without_a_generative_reader_gives_its_features_no_weight() -> None:
    parts, checkpoint = Weights.load("arbgraph-small")
    assert parts.generative_reader is None
    assert parts.parts["rescoring"]["language"] == 0
    assert parts.parts["rescoring"]["reader"] != 0
    assert "rescoring.language" not in checkpoint.config.features


def test_features_of_another_version_are_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(find_checkpoint("arbgraph-small"), tmp_path / "small")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["features"] = [name.replace("rescoring.words", "rescoring.letters") for name in config["features"]]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(CheckpointError, match="rescoring does not weigh the features of this version"):
        Weights.load(folder)
