"""Fits the learned scalars of `arbgraph-small`: `python -m train.answer_credibility --data DATA --reader reader-minilm --out FOLDER`.

Each step is a convex fit with a weight penalty: which phrase a passage answers with by its grammar, which one it answers with beside the
other documents (both a softmax over phrases), whether a claim is right, which of two claims exclude each other and which of them wins
(logistic); then a grid over the few scalars of the propagation. Later steps are fitted on what earlier ones say of questions that those
were not fitted on, as it will be with new questions. Everything is chosen by cross-validation over the questions of RAMDocs dev.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jsonargparse import auto_cli

from arbgraph.graph import EvidenceGraph
from arbgraph.minimise import minimise
from arbgraph.reader import Answers
from arbgraph.retellings import Retellings
from arbgraph.splits import fold_of
from arbgraph.systems.readings import normal_form
from arbgraph.systems.small.claims import AnswerClaim, claim_features, claims_of, pair_features, side_features
from arbgraph.systems.small.credibility import PARTS, CredibilitySettings, Weights, evidence_graph, propagate
from arbgraph.systems.small.evidence import Testimony, passage_of, testimonies
from arbgraph.systems.small.phrases import PhraseReader, answers_of, passage_features
from arbgraph.systems.small.reading import N_BEST
from arbgraph.systems.small.rescoring import features, posteriors
from arbgraph.systems.small.system import add_language, open_reading, open_scoring
from eval.measured import measured
from eval.metrics.answers import list_exact_match
from train.answer_credibility_publish import save
from train.console import say, show_rows
from train.data.disputes import AMPLIFIED, OTHERS, RAMDOCS, DisputedQuestion, disputed_questions

# Settings of the propagation that the grid tries.
GRID: dict[str, tuple[float, ...]] = {
    "step_size": (0.0, 0.5, 1.0, 1.5, 2.5),
    "tau_accept": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
    "tau_conf": (0.3, 0.5, 0.7),
    "abstain": (-3.0, -1.0),
}
# Questions that the reader was trained on, and that are read by the reader of another fold.
HELD = (RAMDOCS, AMPLIFIED)
PENALTY = {"grammar": 1e-4, "rescoring": 2e-3, "prior": 3e-3, "contradiction": 1e-2, "verdict": 1e-2}


@dataclass(frozen=True)
class Shrinkage:
    """How the weights of one part are held back: `penalty` times their squares, and features `[F]` that take no part have `keep` 0."""

    penalty: float
    keep: np.ndarray


def shrinkage(without: Sequence[str] = ()) -> dict[str, Shrinkage]:
    """That of every part, less the features named. Raises ValueError on a name that no part has."""
    unknown = sorted(set(without) - {name for names in PARTS.values() for name in names})
    if unknown:
        raise ValueError(f"no part has a feature {unknown[0]!r}; the card of a checkpoint lists them")
    return {part: Shrinkage(PENALTY[part], np.array([float(name not in without) for name in names])) for part, names in PARTS.items()}


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
        None if stated is None else _right([phrase.plain for phrase in testimony.phrases], stated)
        for testimony, stated in zip(found, question.stated, strict=True)
    ]
    return Prepared(question, found, rows, targets, weight, least_mass)


def fit_softmax(used: Sequence[tuple[np.ndarray, np.ndarray, float]], shrunk: Shrinkage, start: np.ndarray | None = None) -> np.ndarray:
    """Weights of a softmax over the rows of each document by maximum likelihood of the right rows; one (rows, right, weight) a document."""
    x = torch.tensor(np.concatenate([rows for rows, _, _ in used]) * shrunk.keep, dtype=torch.float64)
    y = torch.tensor(np.concatenate([right for _, right, _ in used]), dtype=torch.float64)
    owner = torch.repeat_interleave(torch.arange(len(used)), torch.tensor([len(rows) for rows, _, _ in used]))
    weight = torch.tensor([w for _, _, w in used], dtype=x.dtype)
    values = torch.zeros(x.shape[1], dtype=x.dtype) if start is None else torch.tensor(start)
    values.requires_grad_(True)

    def loss() -> torch.Tensor:
        scores = x @ values
        top = torch.full((len(used),), -torch.inf, dtype=x.dtype).scatter_reduce(0, owner, scores.detach(), "amax")
        odds = torch.exp(scores - top[owner])
        total = torch.zeros_like(top).index_add(0, owner, odds)
        right = torch.zeros_like(top).index_add(0, owner, odds * y)
        return -(weight * (torch.log(right + 1e-12) - torch.log(total))).sum() / weight.sum() + shrunk.penalty * values.square().sum()

    minimise(values, loss)
    return values.detach().numpy()


def fit_rescoring(prepared: Sequence[Prepared], shrunk: Shrinkage, start: np.ndarray | None = None) -> np.ndarray:
    """Weights of the phrases' softmax beside the other documents."""
    used = [(rows, y, one.weight) for one in prepared for rows, y in zip(one.rows, one.targets, strict=True) if y is not None]
    return fit_softmax(used, shrunk, start)


def read_by_grammar(
    questions: Sequence[DisputedQuestion], weights: Sequence[float], shrunk: Shrinkage, folds: int
) -> tuple[list[list[Answers]], np.ndarray]:
    """What every document answers by its grammar, under weights that were fitted without its question; and the weights of all questions."""
    reader = PhraseReader({})
    passages = [[passage_of(document) for document in question.query.documents] for question in questions]
    parsed = iter(reader.parse([passage for some in passages for passage in some]))
    seen = []
    for question, some in zip(questions, passages, strict=True):
        documents = [next(parsed) for _ in some]
        seen.append([(doc, *passage_features(question.query.query, doc)) for doc in documents])
    used: list[list[tuple[np.ndarray, np.ndarray, float]]] = []
    for question, some, weight in zip(questions, seen, weights, strict=True):
        rows = []
        for (doc, places, matrix), stated in zip(some, question.stated, strict=True):
            forms = [normal_form(doc.text[start:end]) for start, end in places]
            if stated is not None and (right := _right(forms, stated)) is not None:
                rows.append((matrix, right, weight))
        used.append(rows)
    vector = fit_softmax([row for rows in used for row in rows], shrunk)
    fold = [_fold(question, folds) for question in questions]
    by_fold = [
        fit_softmax([row for rows, f in zip(used, fold, strict=True) if f != held for row in rows], shrunk, vector) for held in range(folds)
    ]
    read = [
        [answers_of(doc.text, places, matrix @ by_fold[f], N_BEST) for doc, places, matrix in some]
        for some, f in zip(seen, fold, strict=True)
    ]
    return read, vector


def read_by_folds(
    questions: Sequence[DisputedQuestion], read: Sequence[list[Answers]], fold_readers: str, cache: str | None, folds: int
) -> list[list[Answers]]:
    """The readings `read`, those of RAMDocs replaced by those of the reader that was trained without the question's fold."""
    found = list(read)
    for held in range(folds):
        rows = [row for row, one in enumerate(questions) if one.source in HELD and _fold(one, folds) == held]
        readings = open_reading(str(Path(fold_readers) / str(held)), cache).read([questions[row].query for row in rows])
        for row, answers in zip(rows, readings, strict=True):
            found[row] = answers
    return found


def score_by_folds(
    questions: Sequence[DisputedQuestion],
    found: Sequence[list[Testimony]],
    generative_reader: str | None,
    fold_readers: str | None,
    cache: str | None,
    folds: int,
) -> None:
    """Has the generative reader score all phrases; for RAMDocs, where `fold_readers` are given, the one trained without the fold."""
    parts: dict[str | None, list[int]] = defaultdict(list)
    for row, one in enumerate(questions):
        held = fold_readers is not None and one.source in HELD
        parts[str(Path(fold_readers or "") / str(_fold(one, folds))) if held else generative_reader].append(row)
    for name, rows in parts.items():
        add_language(open_scoring(name, cache), [questions[row].query.query for row in rows], [found[row] for row in rows])


def _right(forms: Sequence[str], stated: str) -> np.ndarray | None:
    """Which rows are right, "no answer" first; None where a stated answer is not among the phrases, which teaches nothing about them."""
    right = np.array([float(not stated)] + [float(bool(stated) and form == normal_form(stated)) for form in forms])
    return right if right.any() else None


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


def _fold(question: DisputedQuestion, folds: int) -> int:
    """The fold of a question, the same as in the training of readers."""
    return fold_of(question.query.query, folds)


def folds_of(prepared: Sequence[Prepared], folds: int) -> list[int]:
    """The fold of every question."""
    return [_fold(one.question, folds) for one in prepared]


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


def answer_credibility(
    data: str,
    out: str,
    reader: str = "reader-minilm",
    fold_readers: str | None = None,
    generative_reader: str | None = "reader-smollm2",
    fold_generative_readers: str | None = None,
    cache: str | None = None,
    others: Sequence[str] = OTHERS,
    other_weight: float = 0.1,
    others_for: Literal["everything", "grammar"] = "everything",
    most: int = 100,
    folds: int = 5,
    longest: float = 3.0,
    amplified: bool = False,
    least_mass: float = 0.3,
    retold_cosine: float = 2.0,
    retold_words: float = 0.45,
    without: Sequence[str] = (),
    card: str = "",
) -> None:
    """Fits, cross-validates and saves.

    Args:
        data: folder of the question sets. out: checkpoint folder to write. reader: name or folder of the reader's checkpoint.
        fold_readers: where the reader was trained on RAMDocs dev, folder of one reader a fold (`0`, `1`, ...), each trained without
            the fold whose questions it reads here, so that what is fitted has seen readings of questions that are new to the reader.
        generative_reader, fold_generative_readers: the same for the reader that scores phrases; null fits without one.
        cache: file that keeps what the readers found. others: sets whose dev parts are fitted on beside RAMDocs dev.
        other_weight: weight of their questions. others_for: whether they take part in all fits, or in that of the grammar alone, which
            needs no reader. most: questions of one of them. folds: of the cross-validation.
        longest: most answers a question, on average. least_mass: of a phrase that makes a claim.
        amplified: choose the settings on RAMDocs' amplified dev questions too.
        retold_cosine, retold_words: of documents that retell each other and count as one source; above 1 none do.
        without: features that take no part, for ablations.
        card: further lines of the card.
    """
    begin = time.time()
    shrunk = shrinkage(without)
    reading = open_reading(reader, cache)
    start = CredibilitySettings(least_mass=least_mass, retold_cosine=retold_cosine, retold_words=retold_words)
    retellings = Retellings(retold_cosine, retold_words)
    questions: list[DisputedQuestion] = []
    for name in (RAMDOCS, *([AMPLIFIED] if amplified else []), *others):
        some = disputed_questions(data, name)[: None if name in HELD else most]
        questions += some
        say(f"{name}: {len(some)} questions, {sum(len(q.query.documents) for q in some)} documents")
    weights = [{RAMDOCS: 1.0, AMPLIFIED: 0.0}.get(question.source, other_weight) for question in questions]
    by_grammar, grammar = read_by_grammar(questions, weights, shrunk["grammar"], folds)
    if others_for == "grammar":
        # RAMDocs stands first.
        count = sum(question.source in HELD for question in questions)
        questions, weights, by_grammar = questions[:count], weights[:count], by_grammar[:count]
    read = reading.read([question.query for question in questions])
    if fold_readers is not None:
        read = read_by_folds(questions, read, fold_readers, cache, folds)
    found = [
        testimonies(question.query.documents, answers, parsed, start.copy_overlap, retellings.of(question.query.documents))
        for question, answers, parsed in zip(questions, read, by_grammar, strict=True)
    ]
    score_by_folds(questions, found, generative_reader, fold_generative_readers, cache, folds)
    everything = [prepare(*one, least_mass) for one in zip(questions, found, weights, strict=True)]
    prepared = [one for one in everything if one.question.source != AMPLIFIED]
    also = [one for one in everything if one.question.source == AMPLIFIED]
    both = held_out(prepared, shrunk, folds, also)
    cases = [case for case in both if case.claimed.one.question.source == RAMDOCS]
    stages = report(cases)
    settings, chosen = choose_settings(cases, start, longest, [case for case in both if case.claimed.one.question.source == AMPLIFIED])
    parts = {"grammar": dict(zip(PARTS["grammar"], grammar.tolist(), strict=True))} | fit_parts(prepared, shrunk)
    metrics = measured() | {
        "cross_validated": chosen | stages,
        "folds": folds,
        "questions": len(prepared),
        "seconds": round(time.time() - begin),
    }
    show_rows("cross-validated on RAMDocs dev", [{k: f"{v:.3f}" if isinstance(v, float) else v for k, v in (chosen | stages).items()}])
    save(
        out,
        parts,
        settings,
        metrics,
        {
            "reader": Path(reader).name,
            "generative_reader": generative_reader and Path(generative_reader).name,
            "others": list(others),
            "other_weight": other_weight,
            "others_for": others_for,
            "amplified": amplified,
            "least_mass": least_mass,
            "retold_cosine": retold_cosine,
            "retold_words": retold_words,
            "most": most,
            "penalty": PENALTY,
            "without": list(without),
        },
        card,
    )


if __name__ == "__main__":
    auto_cli(answer_credibility, as_positional=False)
