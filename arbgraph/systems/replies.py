"""The reply form that every system's final prompt asks for, and how it is read.

A reply may reason first; its last line begins with `Answer:` and lists the answers, separated by semicolons. Numbered and bulleted lines
after the mark are read as well. Only what follows the mark is an answer: the reasoning before it may name wrong answers to refute them.
"""

from __future__ import annotations

import re

from arbgraph.schema import Answer, Failed
from arbgraph.systems.base import StepFailed

MARK = "Answer:"
UNKNOWN = "unknown"

# How a final prompt asks for this form.
ANSWER_FORM = (
    f'End with one line that begins with "{MARK}" and gives the answer in as few words as possible, such as a name, a number or a date. '
    f'Where several answers are right, give all of them, separated by semicolons. Where none can be given, write "{MARK} {UNKNOWN}".'
)

SHORT_REPLY_WORDS = 12  # a reply of one line and at most so many words is an answer without a mark
_MARK = re.compile(r"(?:^|\n|(?<=[.!?])\s)[\s*_#>]*(?:the\s+)?(?:final\s+)?answers?(?:\s+(?:is|are))?[*_\s]*:[*_]*", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)])\s+")
_UNKNOWN = re.compile(
    r"^(?:unknown|none|no answer|not (?:given|stated|mentioned|available|enough information)|n/?a|i do(?:n't| not) know)$"
)

# A short reply without a mark that says so in a sentence: "The population is unknown."
_SAID_UNKNOWN = re.compile(r"\b(?:is|are|was) (?:unknown|not (?:known|given|stated|mentioned))\W*$", re.IGNORECASE)


def read_answers(text: str) -> tuple[str, ...] | None:
    """The answers of a reply, each once, in order; empty when the reply says that there is none; None when it cannot be read."""
    marks = list(_MARK.finditer(text))
    if marks:
        listed = text[marks[-1].end() :]
    elif "\n" not in text.strip() and 0 < len(text.split()) <= SHORT_REPLY_WORDS:
        listed = UNKNOWN if _SAID_UNKNOWN.search(text) else text
    else:
        return None
    lines = [line for line in listed.strip().splitlines() if line.strip()]
    if not lines:
        return None
    bulleted = [line for line in lines if _BULLET.match(line)]
    # A list ends where its lines end; without one, the answer is the line of the mark.
    chosen = bulleted or lines[:1]
    answers = [_clean(part) for line in chosen for part in _BULLET.sub("", line).split(";")]
    return tuple(dict.fromkeys(answer for answer in answers if answer and not _UNKNOWN.match(answer.casefold())))


def _clean(answer: str) -> str:
    answer = answer.strip().strip("*_`").strip()
    if len(answer) > 1 and answer[0] == answer[-1] and answer[0] in "\"'":
        answer = answer[1:-1].strip()
    # The stop that ends a sentence, not the one of an abbreviation such as "U.S.".
    return answer[:-1] if answer.endswith(".") and "." not in answer[:-1] else answer


def answer_of(text: str, stage: str, **more: object) -> Answer:
    """The answer of a final reply; `more` are further fields of `Answer`. Raises StepFailed when the reply cannot be read."""
    answers = read_answers(text)
    if answers is None:
        raise StepFailed(Failed(stage=stage, reason=f"the reply has no line that begins with {MARK!r}", raw=text[:2000]))
    return Answer.model_validate({"text": text.strip(), "short_answers": answers, "abstained": not answers, **more})
