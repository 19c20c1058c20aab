"""What a relation verifier must beat: rules on a cosine, a classifier that sees one claim, and always saying the same.

Thresholds are tuned for accuracy on the dev split beside the evaluated file where there is one, else on all of those splits pooled;
`cosine_negation_pooled` always takes the pool, so it does not know the label shares of a set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from arbgraph.encoder import SentenceEncoder
from arbgraph.schema import CONTRADICT, NEUTRAL, RELATION_LABELS, SUPPORT
from arbgraph.verifier.pairs import PairFileError
from eval.pair_sets import PairSet, read_sets

Baseline = Literal["majority", "cosine", "cosine_negation", "cosine_negation_pooled", "hypothesis_only"]
BASELINES: tuple[Baseline, ...] = ("majority", "cosine", "cosine_negation", "cosine_negation_pooled", "hypothesis_only")
DEV_FILES = ("dev.jsonl.gz", "dev.jsonl", "dev.parquet")
# Candidate thresholds are quantiles of the dev cosines: finer steps would fit single pairs.
STEPS = 50

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|hardly|barely|scarcely|failed|refused|denied|lacks?|un(?:able|likely))\b|n't\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Similar:
    """What the rules see of a set: cosines `[N]`, whether negation or numbers mismatch `[N]` bool, gold labels `[N]`, all numpy."""

    cosine: np.ndarray
    mismatch: np.ndarray
    labels: np.ndarray


def mismatch(a: str, b: str) -> bool:
    """Whether one text is negated and the other is not, or both state numbers and neither text holds all of the other's."""
    if (len(_NEGATION.findall(a)) % 2) != (len(_NEGATION.findall(b)) % 2):
        return True
    first, second = ({number.replace(",", "") for number in _NUMBER.findall(text)} for text in (a, b))
    return bool(first and second) and not (first <= second or second <= first)


def tune_bands(dev: Similar) -> tuple[float, float, tuple[int, ...]]:
    """Two thresholds on the cosine and the labels below, between and above them, with the best dev accuracy.

    All orders of the labels are tried; of equals the first found, in ascending thresholds, is taken.
    """
    steps = _candidates(dev.cosine)
    counts = np.stack([[np.sum((dev.labels == label) & (dev.cosine < step)) for step in steps] for label in range(3)])
    total = np.bincount(dev.labels, minlength=3)
    best = (-1, 0.0, 0.0, (NEUTRAL, CONTRADICT, SUPPORT))
    for below, between, above in permutations(range(3)):
        # Right decisions for every pair of thresholds (row: lower, column: upper).
        right = counts[below][:, None] - counts[between][:, None] + counts[between][None, :] + (total[above] - counts[above])[None, :]
        right = np.where(np.triu(np.ones_like(right)) > 0, right, -1)
        low, high = np.unravel_index(int(right.argmax()), right.shape)
        if right[low, high] > best[0]:
            best = (int(right[low, high]), float(steps[low]), float(steps[high]), (below, between, above))
    return best[1:]


def tune_gates(dev: Similar) -> tuple[float, float]:
    """The cosines from which a pair without and with a mismatch is support and contradiction, each with the best dev accuracy."""
    gates = []
    for sign, label in ((False, SUPPORT), (True, CONTRADICT)):
        cosine, labels = dev.cosine[dev.mismatch == sign], dev.labels[dev.mismatch == sign]
        steps = _candidates(dev.cosine)
        right = [np.sum((labels == label) & (cosine >= step)) + np.sum((labels == NEUTRAL) & (cosine < step)) for step in steps]
        gates.append(float(steps[int(np.argmax(right))]))
    return gates[0], gates[1]


def _candidates(cosine: np.ndarray) -> np.ndarray:
    # Beyond both ends, so that a label may be left out altogether.
    return np.unique(np.concatenate([[-1.01], np.quantile(cosine, np.linspace(0, 1, STEPS)), [1.01]]))


def predict_bands(test: Similar, low: float, high: float, labels: Sequence[int]) -> Tensor:
    """Label numbers `[N]` of `tune_bands`' rule."""
    return torch.tensor(np.array(labels)[(test.cosine >= low).astype(int) + (test.cosine >= high)])


def predict_gates(test: Similar, support: float, contradict: float) -> Tensor:
    """Label numbers `[N]` of `tune_gates`' rule."""
    passed = test.cosine >= np.where(test.mismatch, contradict, support)
    return torch.tensor(np.where(passed, np.where(test.mismatch, CONTRADICT, SUPPORT), NEUTRAL))


class HypothesisOnly:
    """Word and word-pair counts of the second claim, weighted by TF-IDF, into a logistic regression: finds surface cues of a label.

    Args:
        sets: training pairs.
    """

    def __init__(self, sets: Sequence[PairSet]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        texts, labels = [b for one in sets for _, b in one.texts], torch.cat([one.labels for one in sets]).numpy()
        self.model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True), LogisticRegression(C=1.0, max_iter=300, random_state=0)
        )
        self.model.fit(texts, labels)

    def predict(self, test: PairSet) -> Tensor:
        """Label numbers `[N]`."""
        return torch.tensor(self.model.predict([b for _, b in test.texts]))


class Baselines:
    """Runs the chosen baselines on set after set.

    Args:
        names: which of `BASELINES`.
        sets: every set that will be evaluated; their own dev splits are read here.
        encoder: sentence encoder of the cosines; None loads the packaged one when a rule needs it.
        train: training files of `hypothesis_only`.
        root, columns: of `train`, and the columns of all files.
        limit: at most this many dev pairs per set.
        train_limit: at most this many training pairs per file.

    Raises PairFileError when a rule has no dev pairs at all, or `hypothesis_only` no training files.
    """

    def __init__(
        self,
        names: Sequence[Baseline],
        sets: Sequence[PairSet],
        *,
        encoder: SentenceEncoder | None = None,
        train: Sequence[str] = (),
        root: str | Path = ".",
        columns: Mapping[str, str] | None = None,
        limit: int = 250,
        train_limit: int = 4000,
    ) -> None:
        self.names = [name for name in BASELINES if name in names]
        self.hypothesis, self._encoder = None, encoder
        if "hypothesis_only" in self.names:
            if not train:
                raise PairFileError(
                    "the baseline hypothesis_only needs training files: give --train FILE..., or leave it out of --baselines"
                )
            self.hypothesis = HypothesisOnly(read_sets(train, root=root, limit=train_limit, columns=columns))
        self.own: dict[str, Similar] = {}
        self.pooled: Similar | None = None
        if any(name.startswith("cosine") for name in self.names):
            self._read_dev(sets, columns, limit)

    def _read_dev(self, sets: Sequence[PairSet], columns: Mapping[str, str] | None, limit: int) -> None:
        evaluated = {one.file.resolve() for one in sets}
        dev: dict[str, Similar] = {}
        for one in sets:
            beside = [one.file.parent / name for name in DEV_FILES]
            found = next((path for path in beside if path.is_file() and path.resolve() not in evaluated), None)
            if found is None:
                continue
            key = str(found)
            if key not in dev:
                dev[key] = self.similar(read_sets([key], limit=limit, columns=columns)[0])
            self.own[one.name] = dev[key]
        if not dev:
            raise PairFileError(
                "the cosine rules need dev pairs to tune on: no evaluated file has a dev file beside it that is not evaluated"
            )
        parts = [dev[key] for key in sorted(dev)]
        self.pooled = Similar(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("cosine", "mismatch", "labels")))

    def similar(self, one: PairSet) -> Similar:
        """What the rules see of a set."""
        self._encoder = self._encoder or SentenceEncoder()
        vectors = self._encoder.encode([text for pair in one.texts for text in pair]).double()
        cosine = (vectors[::2] * vectors[1::2]).sum(-1).numpy()
        return Similar(cosine, np.array([mismatch(a, b) for a, b in one.texts]), one.labels.numpy())

    def predict(self, test: PairSet) -> dict[str, dict[str, Any]]:
        """By baseline: `labels` `[N]`, and `settings`, what was tuned and on which pairs."""
        results: dict[str, dict[str, Any]] = {}
        seen = self.similar(test) if self.pooled is not None else None
        for name in self.names:
            if name == "majority":
                label = int(test.labels.bincount(minlength=3).argmax())
                results[name] = {"labels": torch.full((len(test.pairs),), label), "settings": {"label": RELATION_LABELS[label]}}
            elif name == "hypothesis_only":
                assert self.hypothesis is not None
                results[name] = {"labels": self.hypothesis.predict(test), "settings": {}}
            else:
                assert self.pooled is not None
                assert seen is not None
                own = name != "cosine_negation_pooled" and test.name in self.own
                dev, tuned_on = (self.own[test.name], "own dev") if own else (self.pooled, "pooled dev")
                results[name] = _rule(name, dev, seen) | {"tuned_on": tuned_on}
        return results


def _rule(name: str, dev: Similar, test: Similar) -> dict[str, Any]:
    if name == "cosine":
        low, high, labels = tune_bands(dev)
        settings = {"thresholds": [low, high], "labels": [RELATION_LABELS[label] for label in labels]}
        return {"labels": predict_bands(test, low, high, labels), "settings": settings}
    support, contradict = tune_gates(dev)
    return {"labels": predict_gates(test, support, contradict), "settings": {"support_from": support, "contradict_from": contradict}}
