"""Whether answers are right: exact match and token F1 of one answer, exact match and F1 of a list of answers, containment in a text.

Gold answers come as groups of aliases: every group is one right answer, and any alias of it counts. Undefined is None.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Gold: TypeAlias = Sequence[Sequence[str]]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})


class PrecisionRecall(NamedTuple):
    """F1, precision and recall of one item, each in [0, 1]."""

    f1: float
    precision: float
    recall: float


def normalise_answer(text: str) -> str:
    """NFC, lower case, no ASCII punctuation, no a/an/the, single spaces.

    What would leave nothing is not dropped: the answer "A." is "a", and "?" stays. Source: Rajpurkar et al., EMNLP 2016, whose
    script does not compose characters.
    """
    lowered = unicodedata.normalize("NFC", text).lower()
    bare = lowered.translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split() or bare.split() or lowered.split())


def _normalised(answers: Sequence[str]) -> set[str]:
    return {normalise_answer(answer) for answer in answers} - {""}


def _groups(gold: Gold) -> list[set[str]]:
    return [_normalised(group) for group in gold]


def _holds(text: str, part: str) -> bool:
    """Whether a normalised text holds a normalised part, from word end to word end."""
    return f" {part} " in f" {text} "


# One answer


def exact_match(answer: str, gold: Gold) -> float | None:
    """1 where the normalised answer equals an alias of any group, else 0; None without gold answers."""
    if not gold:
        return None
    return float(normalise_answer(answer) in set().union(*_groups(gold)))


def token_f1(answer: str, gold: Gold) -> PrecisionRecall | None:
    """Word overlap, as bags, of the normalised answer with the alias that gives the highest F1; None without gold answers.

    yes, no and noanswer match only themselves. Source: Yang et al., EMNLP 2018.
    """
    if not gold:
        return None
    predicted = normalise_answer(answer)
    return max(_overlap(predicted, alias) for group in _groups(gold) for alias in sorted(group))


def _overlap(predicted: str, gold: str) -> PrecisionRecall:
    if predicted != gold and (predicted in _CLOSED or gold in _CLOSED):
        return PrecisionRecall(0.0, 0.0, 0.0)
    ours, theirs = predicted.split(), gold.split()
    same = sum((Counter(ours) & Counter(theirs)).values())
    if not same:
        return PrecisionRecall(0.0, 0.0, 0.0)
    return PrecisionRecall(2 * same / (len(ours) + len(theirs)), same / len(ours), same / len(theirs))


# A list of answers


def collides(gold: Gold, wrong: Sequence[str]) -> bool:
    """Whether a wrong answer equals a gold one after normalisation, which no list of answers can satisfy."""
    return bool(set().union(*_groups(gold)) & _normalised(wrong))


def list_exact_match(predicted: Sequence[str], gold: Gold, wrong: Sequence[str]) -> float | None:
    """1 where every group has an alias among the predicted answers and no wrong answer is among them, else 0; None without gold.

    Answers that are neither gold nor wrong are ignored. Where a wrong answer equals a gold one it is 0 whatever was predicted.
    Source: Wang et al., arXiv 2504.13079, whose scorer is not published.
    """
    if not gold:
        return None
    found = _normalised(predicted)
    return float(all(group & found for group in _groups(gold)) and not _normalised(wrong) & found)


def list_substring_match(predicted: Sequence[str], gold: Gold, wrong: Sequence[str]) -> float | None:
    """The same, where an answer counts when it stands inside a predicted one, from word end to word end.

    A wrong answer inside a predicted one that also holds a gold answer does not count.
    """
    if not gold:
        return None
    found, groups, bad = _normalised(predicted), _groups(gold), _normalised(wrong)
    answered = all(any(_holds(item, alias) for item in found for alias in group) for group in groups)
    aliases = set().union(*groups)
    without_gold = [item for item in found if not any(_holds(item, alias) for alias in aliases)]
    return float(answered and not any(_holds(item, answer) for item in without_gold for answer in bad))


def set_f1(predicted: Sequence[str], gold: Gold) -> PrecisionRecall | None:
    """Precision, recall and F1 over distinct answers; None without gold answers, all 0 without predicted ones.

    Predicted answers that are aliases of one group are one answer; those that match no group are one each after normalisation.
    """
    if not gold:
        return None
    found, groups = _normalised(predicted), _groups(gold)
    hit = sum(bool(group & found) for group in groups)
    given = hit + len(found - set().union(*groups))
    return PrecisionRecall(2 * hit / (given + len(groups)), hit / given if given else 0.0, hit / len(groups))


def states_wrong(predicted: Sequence[str], wrong: Sequence[str]) -> float | None:
    """1 where a wrong answer is among the predicted ones after normalisation, else 0; None without wrong answers."""
    return float(bool(_normalised(wrong) & _normalised(predicted))) if wrong else None


# A text


def contained(text: str, answers: Sequence[str]) -> bool:
    """Whether any of the answers stands in the text after normalisation of both, from word end to word end."""
    whole = normalise_answer(text)
    return any(_holds(whole, answer) for answer in _normalised(answers))


def contains_any(text: str, gold: Gold) -> float | None:
    """1 where an alias of any group stands in the text, else 0; None without gold answers."""
    return float(any(contained(text, group) for group in gold)) if gold else None


def contains_all(text: str, gold: Gold) -> float | None:
    """1 where every group has an alias that stands in the text, else 0; None without gold answers."""
    return float(all(contained(text, group) for group in gold)) if gold else None


def contains_wrong(text: str, wrong: Sequence[str]) -> float | None:
    """1 where a wrong answer stands in the text, else 0; None without wrong answers."""
    return float(contained(text, wrong)) if wrong else None
