"""What the documents of disputed questions say, read as it will be with new questions: by readers that have not seen them.

The grammar reader is fitted here, out of fold; the networks are those that `train.reader` and `train.generative_reader` trained, of the
folds where RAMDocs dev was among their data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from arbgraph.minimise import minimise
from arbgraph.reader import Answers
from arbgraph.retellings import Retellings
from arbgraph.splits import fold_of
from arbgraph.systems.readings import normal_form
from arbgraph.systems.small.credibility import PARTS, CredibilitySettings
from arbgraph.systems.small.evidence import Testimony, passage_of, testimonies
from arbgraph.systems.small.phrases import PhraseReader, answers_of, passage_features
from arbgraph.systems.small.reading import N_BEST
from arbgraph.systems.small.system import add_language, open_reading, open_scoring
from train.console import say
from train.data.disputes import AMPLIFIED, OTHERS, RAMDOCS, DisputedQuestion, disputed_questions

# Questions that the reader was trained on, and that are read by the reader of another fold.
HELD = (RAMDOCS, AMPLIFIED)
PENALTY = {"grammar": 1e-4, "rescoring": 2e-3, "prior": 3e-3, "contradiction": 1e-2, "verdict": 1e-2}


class FeatureError(ValueError):
    """A feature that no part has."""


@dataclass(frozen=True)
class Shrinkage:
    """How the weights of one part are held back: `penalty` times their squares, and features `[F]` that take no part have `keep` 0."""

    penalty: float
    keep: np.ndarray


def shrinkage(without: Sequence[str] = ()) -> dict[str, Shrinkage]:
    """That of every part, less the features named. Raises FeatureError on a name that no part has."""
    unknown = sorted(set(without) - {name for names in PARTS.values() for name in names})
    if unknown:
        raise FeatureError(f"no part has a feature {unknown[0]!r}; the card of a checkpoint lists them")
    return {part: Shrinkage(PENALTY[part], np.array([float(name not in without) for name in names])) for part, names in PARTS.items()}


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


@dataclass(frozen=True, kw_only=True)
class ReadingRecipe:
    """Which questions are read, and by what.

    Args:
        data: folder of the question sets.
        reader: name or folder of the reader's checkpoint.
        fold_readers: where the reader was trained on RAMDocs dev, folder of one reader a fold (`0`, `1`, ...), each trained without
            the fold whose questions it reads here, so that what is fitted has seen readings of questions that are new to the reader.
        generative_reader: name or folder of the reader that scores phrases; null fits without one.
        fold_generative_readers: as `fold_readers`, of the generative reader.
        cache: file that keeps what the readers found.
        others: sets whose dev parts are fitted on beside RAMDocs dev.
        other_weight: weight of their questions.
        others_for: whether they take part in all fits, or in that of the grammar alone, which needs no reader.
        most: questions of one of them.
        amplified: read RAMDocs' amplified dev questions too, to choose the settings on.
    """

    data: str
    reader: str = "reader-minilm"
    fold_readers: str | None = None
    generative_reader: str | None = "reader-smollm2"
    fold_generative_readers: str | None = None
    cache: str | None = None
    others: Sequence[str] = OTHERS
    other_weight: float = 0.1
    others_for: Literal["everything", "grammar"] = "everything"
    most: int = 100
    amplified: bool = False


@dataclass(frozen=True)
class ReadQuestions:
    """Questions with their weights in the fits and their evidence, and the weights of the grammar reader."""

    questions: list[DisputedQuestion]
    weights: list[float]
    found: list[list[Testimony]]
    grammar: np.ndarray


def read_questions(recipe: ReadingRecipe, settings: CredibilitySettings, grammar: Shrinkage, folds: int) -> ReadQuestions:
    """Reads the dev questions of the recipe's sets, RAMDocs first."""
    questions: list[DisputedQuestion] = []
    for name in (RAMDOCS, *([AMPLIFIED] if recipe.amplified else []), *recipe.others):
        some = disputed_questions(recipe.data, name)[: None if name in HELD else recipe.most]
        questions += some
        say(f"{name}: {len(some)} questions, {sum(len(q.query.documents) for q in some)} documents")
    weights = [{RAMDOCS: 1.0, AMPLIFIED: 0.0}.get(question.source, recipe.other_weight) for question in questions]
    by_grammar, vector = read_by_grammar(questions, weights, grammar, folds)
    if recipe.others_for == "grammar":
        count = sum(question.source in HELD for question in questions)
        questions, weights, by_grammar = questions[:count], weights[:count], by_grammar[:count]
    read = open_reading(recipe.reader, recipe.cache).read([question.query for question in questions])
    if recipe.fold_readers is not None:
        read = read_by_folds(questions, read, recipe.fold_readers, recipe.cache, folds)
    retellings = Retellings(settings.retold_cosine, settings.retold_words)
    found = [
        testimonies(question.query.documents, answers, parsed, settings.copy_overlap, retellings.of(question.query.documents))
        for question, answers, parsed in zip(questions, read, by_grammar, strict=True)
    ]
    score_by_folds(questions, found, recipe.generative_reader, recipe.fold_generative_readers, recipe.cache, folds)
    return ReadQuestions(questions, weights, found, vector)


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
            if stated is not None and (right := right_rows(forms, stated)) is not None:
                rows.append((matrix, right, weight))
        used.append(rows)
    vector = fit_softmax([row for rows in used for row in rows], shrunk)
    fold = [fold_of_question(question, folds) for question in questions]
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
        rows = [row for row, one in enumerate(questions) if one.source in HELD and fold_of_question(one, folds) == held]
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
        parts[str(Path(fold_readers or "") / str(fold_of_question(one, folds))) if held else generative_reader].append(row)
    for name, rows in parts.items():
        add_language(open_scoring(name, cache), [questions[row].query.query for row in rows], [found[row] for row in rows])


def right_rows(forms: Sequence[str], stated: str) -> np.ndarray | None:
    """Which rows are right, "no answer" first; None where a stated answer is not among the phrases, which teaches nothing about them."""
    right = np.array([float(not stated)] + [float(bool(stated) and form == normal_form(stated)) for form in forms])
    return right if right.any() else None


def fold_of_question(question: DisputedQuestion, folds: int) -> int:
    """The fold of a question, the same as in the training of readers."""
    return fold_of(question.query.query, folds)
