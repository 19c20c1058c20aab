"""Fits the learned scalars of `arbgraph-small`: `python -m train.answer_credibility --data DATA --reader reader-minilm --out FOLDER`.

Each step is a convex fit with a weight penalty: which phrase a passage answers with by its grammar, which one it answers with beside the
other documents (both a softmax over phrases), whether a claim is right, which of two claims exclude each other and which of them wins
(logistic); then a grid over the few scalars of the propagation. Later steps are fitted on what earlier ones say of questions that those
were not fitted on, as it will be with new questions. Everything is chosen by cross-validation over the questions of RAMDocs dev.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jsonargparse import ArgumentParser

from arbgraph.checkpoint import CheckpointError
from arbgraph.graph import EvidenceGraph
from arbgraph.minimise import minimise
from arbgraph.models import ModelNotFoundError
from arbgraph.reader.readings import QuestionFileError
from arbgraph.systems.readings import normal_form
from arbgraph.systems.small.claims import AnswerClaim, claim_features, claims_of, pair_features, side_features
from arbgraph.systems.small.credibility import PARTS, CredibilitySettings, Weights, evidence_graph, propagate
from arbgraph.systems.small.evidence import Testimony
from arbgraph.systems.small.reading import ReadingCacheError
from arbgraph.systems.small.rescoring import features, posteriors
from eval.measured import measured
from eval.metrics.answers import list_exact_match
from train.answer_credibility_publish import save
from train.answer_evidence import (
    PENALTY,
    FeatureError,
    ReadingRecipe,
    Shrinkage,
    fit_softmax,
    fold_of_question,
    read_questions,
    right_rows,
    shrinkage,
)
from train.console import show_rows
from train.data.disputes import AMPLIFIED, RAMDOCS, DisputedQuestion

# Settings of the propagation that the grid tries.
GRID: dict[str, tuple[float, ...]] = {
    "step_size": (0.0, 0.5, 1.0, 1.5, 2.5),
    "tau_accept": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
    "tau_conf": (0.3, 0.5, 0.7),
    "abstain": (-3.0, -1.0),
}


@dataclass(frozen=True)
class Prepared:
    """A question as read: evidence, features of its phrases, and per document the target `[1 + P]` of the rescoring (None: unknown)."""

    question: DisputedQuestion
    found: list[Testimony]
    rows: list[np.ndarray]
    targets: list[np.ndarray | None]
    weight: float
    least_mass: float


@dataclass(frozen=True)
class Rows:
    """Labelled rows of one part: `x [R, F]`, `y [R]` in {0, 1}, `weight [R]`."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray


def prepare(question: DisputedQuestion, found: list[Testimony], weight: float, least_mass: float) -> Prepared:
    """Features and targets of one question with its evidence."""
    rows = features(question.query.query, found)
    targets = [
        None if stated is None else right_rows([phrase.plain for phrase in testimony.phrases], stated)
        for testimony, stated in zip(found, question.stated, strict=True)
    ]
    return Prepared(question, found, rows, targets, weight, least_mass)


def fit_rescoring(prepared: Sequence[Prepared], shrunk: Shrinkage, start: np.ndarray | None = None) -> np.ndarray:
    """Weights of the phrases' softmax beside the other documents."""
    used = [(rows, y, one.weight) for one in prepared for rows, y in zip(one.rows, one.targets, strict=True) if y is not None]
    return fit_softmax(used, shrunk, start)


def fit_logistic(rows: Rows, shrunk: Shrinkage) -> np.ndarray:
    """Weights of a logistic model."""
    x, y, weight = torch.tensor(rows.x * shrunk.keep), torch.tensor(rows.y), torch.tensor(rows.weight)
    values = torch.zeros(x.shape[1], dtype=x.dtype, requires_grad=True)

    def loss() -> torch.Tensor:
        each = torch.nn.functional.binary_cross_entropy_with_logits(x @ values, y, reduction="none")
        return (weight * each).sum() / weight.sum() + shrunk.penalty * values.square().sum()

    minimise(values, loss)
    return values.detach().numpy()


@dataclass(frozen=True)
class Claimed:
    """The claims of one question with the features of claims, pairs and sides, and labels 1, -1 or 0 by claim."""

    one: Prepared
    claims: list[AnswerClaim]
    labels: list[int]
    own: np.ndarray
    pairs: np.ndarray
    about: np.ndarray
    sides: np.ndarray


def claim(one: Prepared, rescoring: np.ndarray) -> Claimed:
    """Makes the claims of a question with the given rescoring weights."""
    weights = dict(zip(PARTS["rescoring"], rescoring.tolist(), strict=True))
    claims = claims_of(one.found, posteriors(weights, one.rows), one.least_mass)
    question = one.question.query.query
    pairs, about = pair_features(question, one.found, claims)
    labels = [one.question.label(each.text) for each in claims]
    return Claimed(
        one, claims, labels, claim_features(question, one.found, claims), pairs, about, side_features(question, one.found, claims)
    )


def claim_rows(claimed: Sequence[Claimed]) -> dict[str, Rows]:
    """The labelled rows of prior, contradiction and verdict.

    A claim is right where it is gold. Two gold claims exclude each other only where one answer is wanted, and then they are spellings and
    are left out; a gold and a wrong claim exclude each other. Verdict rows hold differences, in both directions.
    """
    found: dict[str, list[tuple[np.ndarray, float, float]]] = {"prior": [], "contradiction": [], "verdict": []}
    for c in claimed:
        weight = c.one.weight
        found["prior"] += [(row, float(label == 1), weight) for row, label in zip(c.own, c.labels, strict=True)]
        for (a, b), about in zip(c.pairs.T.tolist(), c.about, strict=True):
            kinds = {c.labels[a], c.labels[b]}
            if kinds == {1} and c.one.question.several:
                found["contradiction"].append((about, 0.0, weight))
            elif kinds == {1, -1}:
                found["contradiction"].append((about, 1.0, weight))
                difference = (c.sides[a] - c.sides[b]) * c.labels[a]
                found["verdict"] += [(difference, 1.0, weight), (-difference, 0.0, weight)]
    return {
        part: Rows(np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), np.array([r[2] for r in rows]))
        for part, rows in found.items()
    }


def folds_of(prepared: Sequence[Prepared], folds: int) -> list[int]:
    """The fold of every question."""
    return [fold_of_question(one.question, folds) for one in prepared]


def fit_parts(prepared: Sequence[Prepared], shrunk: Mapping[str, Shrinkage], inner: int = 3) -> dict[str, dict[str, float]]:
    """Weights of all parts; claims are made with rescoring weights that were fitted on other questions."""
    rescoring = fit_rescoring(prepared, shrunk["rescoring"])
    fold = folds_of(prepared, inner)
    claimed = []
    for held in range(inner):
        others = [one for one, f in zip(prepared, fold, strict=True) if f != held]
        weights = fit_rescoring(others, shrunk["rescoring"], rescoring)
        claimed += [claim(one, weights) for one, f in zip(prepared, fold, strict=True) if f == held]
    rows = claim_rows(claimed)
    vectors = {"rescoring": rescoring} | {part: fit_logistic(rows[part], shrunk[part]) for part in rows}
    return {part: dict(zip(PARTS[part], vector.tolist(), strict=True)) for part, vector in vectors.items()}


@dataclass(frozen=True)
class HeldOut:
    """A RAMDocs question with its claims and the weights that were fitted without it."""

    claimed: Claimed
    parts: Mapping[str, Mapping[str, float]]


def held_out(prepared: Sequence[Prepared], shrunk: Mapping[str, Shrinkage], folds: int, also: Sequence[Prepared] = ()) -> list[HeldOut]:
    """Every RAMDocs question under weights of the other folds; other sets are trained on in every fold, and those of `also` in none."""
    fold, also_fold = folds_of(prepared, folds), folds_of(also, folds)
    found = []
    for held in range(folds):
        inside = [one.question.source == RAMDOCS and f == held for one, f in zip(prepared, fold, strict=True)]
        parts = fit_parts([one for one, out in zip(prepared, inside, strict=True) if not out], shrunk)
        vector = np.array([parts["rescoring"][name] for name in PARTS["rescoring"]])
        outside = [one for one, out in zip(prepared, inside, strict=True) if out]
        outside += [one for one, f in zip(also, also_fold, strict=True) if f == held]
        found += [HeldOut(claim(one, vector), parts) for one in outside]
    return found


def exact_matches(cases: Sequence[HeldOut], settings: CredibilitySettings, graphs: dict[float, list[EvidenceGraph]]) -> tuple[float, float]:
    """EM in [0, 1] over the questions, and the mean number of answers. `graphs` remembers what does not depend on the settings."""
    if settings.abstain not in graphs:
        graphs[settings.abstain] = [
            evidence_graph(c.claimed.one.question.query.query, c.claimed.one.found, c.claimed.claims, Weights(c.parts, settings))
            for c in cases
        ]
    right, given = 0.0, 0
    judged = propagate([case.claimed.claims for case in cases], graphs[settings.abstain], settings)
    for case, one in zip(cases, judged, strict=True):
        question, answers = case.claimed.one.question, [each.text for each in one.answers()]
        right += list_exact_match(answers, [[gold] for gold in question.gold], sorted(question.wrong)) or 0.0
        given += len(answers)
    return right / len(cases), given / len(cases)


def choose_settings(
    cases: Sequence[HeldOut], start: CredibilitySettings, longest: float, amplified: Sequence[HeldOut] = ()
) -> tuple[CredibilitySettings, dict[str, float]]:
    """The grid point with the highest EM, smoothed over its neighbours in `tau_accept`, among those that give at most `longest` answers.

    With `amplified` questions, the mean of both EM counts.
    """
    graphs: dict[float, list[EvidenceGraph]] = {}
    amplified_graphs: dict[float, list[EvidenceGraph]] = {}
    with_copies: dict[tuple[float, ...], float] = {}
    names = list(GRID)
    scores: dict[tuple[float, ...], tuple[float, float]] = {}
    for point in itertools.product(*GRID.values()):
        settings = replace(start, **dict(zip(names, point, strict=True)))
        scores[point] = exact_matches(cases, settings, graphs)
        with_copies[point] = exact_matches(amplified, settings, amplified_graphs)[0] if amplified else scores[point][0]
    at = names.index("tau_accept")

    def smooth(point: tuple[float, ...]) -> float:
        place = GRID["tau_accept"].index(point[at])
        near = [GRID["tau_accept"][n] for n in (place - 1, place, place, place + 1) if 0 <= n < len(GRID["tau_accept"])]
        points = [(*point[:at], tau, *point[at + 1 :]) for tau in near]
        return float(np.mean([(scores[one][0] + with_copies[one]) / 2 for one in points]))

    allowed = [point for point in scores if scores[point][1] <= longest] or list(scores)
    best = max(allowed, key=lambda point: (round(smooth(point), 6), -scores[point][1]))
    top = sorted(allowed, key=lambda point: -smooth(point))[:6]
    show_rows(
        "grid, cross-validated",
        [dict(zip(names, map(str, p), strict=True)) | {"em": f"{scores[p][0]:.3f}", "answers": f"{scores[p][1]:.2f}"} for p in top],
    )
    reached = {"em": scores[best][0], "answers": scores[best][1]} | ({"em_amplified": with_copies[best]} if amplified else {})
    return replace(start, **dict(zip(names, best, strict=True))), reached


def report(cases: Sequence[HeldOut]) -> dict[str, Any]:
    """Where questions are lost, before arbitration: claims by label, and questions all of whose gold answers are claims."""
    labels = [label for case in cases for label in case.claimed.labels]
    named = [[normal_form(each.text) for each in case.claimed.claims] for case in cases]
    complete = [set(case.claimed.one.question.gold) <= set(forms) for case, forms in zip(cases, named, strict=True)]
    right = total = silent = noise = 0
    for case in cases:
        weights = case.parts["rescoring"]
        for target, posterior in zip(case.claimed.one.targets, posteriors(weights, case.claimed.one.rows), strict=True):
            if target is None:
                continue
            if target[0]:
                noise, silent = noise + 1, silent + int(posterior.argmax() == 0)
            else:
                total, right = total + 1, right + float(target[1:][posterior[1:].argmax()])
    return {
        "claims": len(labels),
        "gold": labels.count(1),
        "wrong": labels.count(-1),
        "all_gold_claimed": sum(complete) / len(complete),
        "document_answers_right": right / total if total else None,
        "noise_silent": silent / noise if noise else None,
    }


@dataclass(frozen=True, kw_only=True)
class Recipe(ReadingRecipe):
    """What is read, how it is fitted, and where it goes.

    Args:
        out: checkpoint folder to write.
        folds: of the cross-validation.
        longest: most answers a question, on average.
        least_mass: of a phrase that makes a claim.
        retold_cosine: of documents that retell each other and count as one source; above 1 none do.
        retold_words: share of the words that such documents have in common.
        without: features that take no part.
        card: further lines of the card.
    """

    out: str
    folds: int = 5
    longest: float = 3.0
    least_mass: float = 0.3
    retold_cosine: float = 2.0
    retold_words: float = 0.45
    without: Sequence[str] = ()
    card: str = ""

    def recorded(self) -> dict[str, Any]:
        """The recipe for `training.yaml`: without folders of this machine."""
        names = ("other_weight", "others_for", "amplified", "least_mass", "retold_cosine", "retold_words", "most")
        return {
            "reader": Path(self.reader).name,
            "generative_reader": self.generative_reader and Path(self.generative_reader).name,
            "others": list(self.others),
            **{name: getattr(self, name) for name in names},
            "penalty": PENALTY,
            "without": list(self.without),
        }


def answer_credibility(recipe: Recipe) -> None:
    """Fits, cross-validates and saves."""
    begin = time.time()
    shrunk = shrinkage(recipe.without)
    start = CredibilitySettings(least_mass=recipe.least_mass, retold_cosine=recipe.retold_cosine, retold_words=recipe.retold_words)
    read = read_questions(recipe, start, shrunk["grammar"], recipe.folds)
    everything = [prepare(*one, recipe.least_mass) for one in zip(read.questions, read.found, read.weights, strict=True)]
    prepared = [one for one in everything if one.question.source != AMPLIFIED]
    both = held_out(prepared, shrunk, recipe.folds, [one for one in everything if one.question.source == AMPLIFIED])
    cases, amplified = ([case for case in both if case.claimed.one.question.source == name] for name in (RAMDOCS, AMPLIFIED))
    stages = report(cases)
    settings, chosen = choose_settings(cases, start, recipe.longest, amplified)
    parts = {"grammar": dict(zip(PARTS["grammar"], read.grammar.tolist(), strict=True))} | fit_parts(prepared, shrunk)
    metrics = measured() | {
        "cross_validated": chosen | stages,
        "folds": recipe.folds,
        "questions": len(prepared),
        "seconds": round(time.time() - begin),
    }
    show_rows("cross-validated on RAMDocs dev", [{k: f"{v:.3f}" if isinstance(v, float) else v for k, v in (chosen | stages).items()}])
    save(recipe.out, parts, settings, metrics, recipe.recorded(), recipe.card)


def recipe_of(arguments: Sequence[str] | None = None) -> Recipe:
    """The recipe of a command line: a flag for every field, and `--config FILE`."""
    parser = ArgumentParser(description="Fits the learned scalars of arbgraph-small.")
    parser.add_argument("--config", action="config")
    parser.add_class_arguments(Recipe, as_group=False)
    given = parser.parse_args(arguments).as_dict()
    del given["config"]
    return Recipe(**given)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; what a user can cause ends in one line."""
    try:
        answer_credibility(recipe_of(arguments))
    except (OSError, FeatureError, QuestionFileError, ReadingCacheError, CheckpointError, ModelNotFoundError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
