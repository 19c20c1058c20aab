"""Chains of triples: dual-factor reliability, the options of a step, and the beam over option probabilities.

Equation numbers are those of the ReliableRAG paper; the search itself is that of TRACE (Fang et al., 2024).
"""

from __future__ import annotations

import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from arbgraph.chat.base import Messages
from arbgraph.chat.prompts import Prompt
from arbgraph.chat.quoting import Block
from arbgraph.systems.examples import after_examples
from arbgraph.systems.reliable.triples import Triple

SELECT = Prompt(
    id="reliable-select",
    version=1,
    rules=(
        "You collect the facts that answer a question, one at a time. From a list of options you choose the fact that helps most next, or "
        "option A when the facts so far are enough."
    ),
    task="Which option comes next? Answer with one letter.",
)

STOP = "no further fact is needed"
LABELS = string.ascii_uppercase
LEAST_PROBABILITY = 1e-4  # options below are not followed


@dataclass(frozen=True)
class Chain:
    """Triples by number, in order; the probability of every option chosen so far; whether the chain chose to stop."""

    triples: tuple[int, ...] = ()
    probabilities: tuple[float, ...] = ()
    stopped: bool = False

    @property
    def confidence(self) -> float:
        """The product of the option probabilities (Eq. 7); 1 for a chain that has chosen nothing."""
        product = 1.0
        for probability in self.probabilities:
            product *= probability
        return product

    @property
    def mean_confidence(self) -> float:
        """The geometric mean of the option probabilities, which does not favour short chains."""
        return self.confidence ** (1 / max(len(self.probabilities), 1))


@dataclass(frozen=True)
class Exemplar:
    """A step that was decided well: question, facts so far, options without "enough", and the letter chosen."""

    question: str
    facts: tuple[str, ...]
    options: tuple[str, ...]
    choice: str

    def solved(self) -> tuple[Messages, str]:
        """The request for the step, and the reply."""
        return selection(self.question, self.facts, self.options, ()), self.choice


def reliability(relevance: Tensor, credibility: Tensor, alpha: float, *, scale: Literal["raw", "minmax"] = "raw") -> Tensor:
    """R = alpha * Phi + (1 - alpha) * eta (Eq. 3), `[N]`.

    Phi is the cosine with the query, in [-1, 1], taken as it is or brought to [0, 1] over the triples; eta is the credibility in [0, 1].
    """
    if scale == "minmax":
        low, high = relevance.min(), relevance.max()
        relevance = (relevance - low) / (high - low) if high > low else torch.zeros_like(relevance)
    return alpha * relevance + (1 - alpha) * credibility


def top_candidates(scores: Tensor, used: Collection[int], count: int) -> list[int]:
    """The numbers of the `count` best triples that are not used, best first; ties keep their order."""
    order = scores.sort(descending=True, stable=True).indices.tolist()
    return [row for row in order if row not in used][:count]


def selection(question: str, facts: Sequence[str], options: Sequence[str], exemplars: Sequence[Exemplar]) -> Messages:
    """The conversation that asks for the next option: A to stop, B and on for the options given (Eq. 4)."""
    lines = [f"{label}. {text}" for label, text in zip(LABELS, (STOP, *options), strict=False)]
    blocks = [Block("question", question), Block("facts", "\n".join(facts) or "none yet"), Block("options", "\n".join(lines))]
    return after_examples(SELECT.messages(blocks), [exemplar.solved() for exemplar in exemplars])


def option_texts(options: int) -> tuple[str, ...]:
    """What is scored for A and `options` further labels: each label without and with a space before it."""
    return tuple(text for label in LABELS[: options + 1] for text in (label, f" {label}"))


def option_probabilities(scores: Tensor) -> Tensor:
    """The softmax restricted to the labels `[O]`, from the scores `[2 O]` of `option_texts`."""
    return scores.view(-1, 2).logsumexp(dim=1).softmax(dim=0)


def grown(chain: Chain, candidates: Sequence[int], probabilities: Tensor, beam: int) -> list[Chain]:
    """The chain extended by its `beam` most probable options (Eq. 5-7); option 0 stops it, option i appends candidate i - 1."""
    order = probabilities.sort(descending=True, stable=True).indices.tolist()[:beam]
    chains = []
    for option in order:
        probability = float(probabilities[option])
        if probability < LEAST_PROBABILITY:
            continue
        added = (*chain.probabilities, probability)
        if option == 0:
            chains.append(Chain(chain.triples, added, stopped=True))
        else:
            chains.append(Chain((*chain.triples, candidates[option - 1]), added))
    return chains


def most_confident(chains: Sequence[Chain], count: int, *, by_mean: bool) -> list[Chain]:
    """The `count` chains of highest confidence, best first; ties go to the chain found first."""
    return sorted(chains, key=lambda chain: -(chain.mean_confidence if by_mean else chain.confidence))[:count]


def synthesis_by_triples(chains: Sequence[Chain], triples: Sequence[Triple]) -> list[str]:
    """TBS: the triples of the chains as text, best chain first, each once."""
    return list(dict.fromkeys(str(triples[row]) for chain in chains for row in chain.triples))


def synthesis_by_sources(chains: Sequence[Chain], triples: Sequence[Triple]) -> list[int]:
    """SBS: the documents that the chains' triples come from, most votes first; every triple of every chain is one vote."""
    votes: dict[int, int] = {}
    for chain in chains:
        for row in chain.triples:
            votes[triples[row].document] = votes.get(triples[row].document, 0) + 1
    return sorted(votes, key=lambda document: -votes[document])


EXEMPLARS = (
    Exemplar(
        "Where was the director of The Salt Road born?",
        (),
        (
            "(The Salt Road; was shot in; Trieste)",
            "(The Salt Road; was directed by; Ivo Tesch)",
            "(Lena Korb; was born in; Graz)",
        ),
        "C",
    ),
    Exemplar(
        "Where was the director of The Salt Road born?",
        ("(The Salt Road; was directed by; Ivo Tesch)",),
        ("(Ivo Tesch; was born in; Linz)", "(Ivo Tesch; studied in; Vienna)"),
        "B",
    ),
    Exemplar(
        "In which year was Corvin Motors founded?",
        ("(Corvin Motors; was founded in; 1921)",),
        ("(Corvin Motors; is based in; Leeds)", "(Halden Group; bought; Corvin Motors)"),
        "A",
    ),
    Exemplar(
        "Who manages the club that plays at Kelvin Park?",
        ("(Northern Rovers; play at; Kelvin Park)",),
        ("(Kelvin Park; holds; 9,000 people)", "(Northern Rovers; won; Highland Cup)", "(Sam Doyle; manages; Northern Rovers)"),
        "D",
    ),
    Exemplar(
        "How many people live in Velm?",
        (),
        ("(Velm; has inhabitants; 8,210)", "(Velm; lies in; district of Orren)"),
        "B",
    ),
)
