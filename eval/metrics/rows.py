"""The rows of the table of metrics: answers, abstention, long answers, cost, and those of `claim_rows`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from eval.metrics import answers
from eval.metrics.claim_rows import CLAIM_ROWS
from eval.metrics.claims import LONGFACT_K, fact_recall, information_density, longfact_f1, pooled_information_density
from eval.metrics.cost import COSTS, quality_per_1000_tokens
from eval.metrics.item import Scored
from eval.metrics.metric import Metric

_NO_GOLD, _NO_WRONG, _NO_FACTS = "without gold answers", "without wrong answers", "without reference facts"
_SQUAD, _HOTPOT = "Rajpurkar et al., EMNLP 2016", "Yang et al., EMNLP 2018"
_RAMDOCS = "Wang et al., arXiv 2504.13079; the reading of an unpublished scorer"
_RIORAG = "Wang et al., arXiv 2505.20825 (labels of its judge)"
_DENSITY = "the ArbGraph paper; scale and variants are ours"
_OURS = "this project"
_TOKENS = ("usage.prompt_tokens", "usage.completion_tokens")
_PREDICTED = ("predicted",)


def _best(item: Scored) -> str:
    """The answer that a metric of one answer judges: the first."""
    return item.short[0] if item.short else ""


def _token_f1(item: Scored) -> answers.PrecisionRecall | None:
    return answers.token_f1(_best(item), item.gold)


def _set_f1(item: Scored) -> answers.PrecisionRecall | None:
    return answers.set_f1(item.short, item.gold)


def _list_em(item: Scored) -> float | None:
    return answers.list_exact_match(item.short, item.gold, item.wrong)


def _clean_em(item: Scored) -> float | None:
    return None if answers.collides(item.gold, item.wrong) else _list_em(item)


def _spent(item: Scored) -> float:
    assert item.usage is not None
    return item.usage["prompt_tokens"] + item.usage["completion_tokens"]


def _per_1000(value: Callable[[Scored], float | None]) -> Callable[[Sequence[Scored]], float | None]:
    def pooled(items: Sequence[Scored]) -> float | None:
        pairs = [(quality, _spent(item)) for item in items if (quality := value(item)) is not None]
        return quality_per_1000_tokens([quality for quality, _ in pairs], [tokens for _, tokens in pairs])

    return pooled


ANSWER_ROWS = (
    Metric("answered", "the system gave an answer", (), "", _OURS, lambda i: float(i.answered), better="neither"),
    Metric(
        "rejection", "the system abstained from a question that has no answer", (), "where the question is answerable",
        "Chen et al., AAAI 2024",
        lambda i: None if i.answerable else float(not i.answered),
    ),
    Metric(
        "exact_match", "the first short answer equals a gold answer after normalisation", _PREDICTED, _NO_GOLD, _SQUAD,
        lambda i: answers.exact_match(_best(i), i.gold),
    ),
    Metric(
        "token_f1", "word overlap of the first short answer with the gold answer nearest to it", _PREDICTED, _NO_GOLD, _HOTPOT,
        lambda i: (f := _token_f1(i)) and f.f1,
    ),
    Metric("token_precision", "precision of that overlap", _PREDICTED, _NO_GOLD, _HOTPOT, lambda i: (f := _token_f1(i)) and f.precision),
    Metric("token_recall", "recall of that overlap", _PREDICTED, _NO_GOLD, _HOTPOT, lambda i: (f := _token_f1(i)) and f.recall),
    Metric("em_strict", "every gold answer and no wrong one is among the short answers", _PREDICTED, _NO_GOLD, _RAMDOCS, _list_em),
    Metric(
        "em_substring", "the same, where an answer inside a short answer counts", _PREDICTED, _NO_GOLD, _RAMDOCS,
        lambda i: answers.list_substring_match(i.short, i.gold, i.wrong),
    ),
    Metric(
        "em_clean", "em_strict of questions that can be answered right", ("predicted",),
        "without gold answers, or where a wrong answer equals a gold one", _RAMDOCS, _clean_em,
    ),
    Metric("set_f1", "F1 of the short answers as a set", _PREDICTED, _NO_GOLD, _OURS, lambda i: (f := _set_f1(i)) and f.f1),
    Metric("set_precision", "precision of that set", _PREDICTED, _NO_GOLD, _OURS, lambda i: (f := _set_f1(i)) and f.precision),
    Metric("set_recall", "recall of that set", _PREDICTED, _NO_GOLD, _OURS, lambda i: (f := _set_f1(i)) and f.recall),
    Metric(
        "wrong_answer", "a wrong answer is among the short answers", _PREDICTED, _NO_WRONG, _OURS,
        lambda i: answers.states_wrong(i.short, i.wrong), better="lower",
    ),
    Metric("containment", "a gold answer stands in the text", ("text",), _NO_GOLD, _OURS, lambda i: answers.contains_any(i.said, i.gold)),
    Metric(
        "containment_all", "every gold answer stands in the text", ("text",), _NO_GOLD, _OURS,
        lambda i: answers.contains_all(i.said, i.gold),
    ),
    Metric(
        "containment_written", "a gold answer stands in what was written, failed replies and abstentions included", ("written",), _NO_GOLD,
        _OURS, lambda i: answers.contains_any(i.written or "", i.gold),
    ),
    Metric(
        "wrong_containment", "a wrong answer stands in the text", ("text",), _NO_WRONG, "Zou et al., USENIX Security 2025 (attack success)",
        lambda i: answers.contains_wrong(i.said, i.wrong), better="lower",
    ),
)  # fmt: skip


def _count(name: str) -> Callable[[Scored], int]:
    if name == "all":
        return lambda item: len(item.claims or ())
    if name == "supported":
        return lambda item: sum(label == "supported" for label in item.claims or ())
    return lambda item: sum(label == "consistent" for label in item.facts or ())


def _density_rows() -> list[Metric]:
    rows = []
    what = {
        "all": "claims of the answer",
        "supported": "supported claims of the answer",
        "reference": "reference facts that the answer states",
    }
    for name, counted in what.items():
        count, needs = _count(name), ("facts" if name == "reference" else "claims", "tokens")
        rows.append(
            Metric(
                f"information_density_{name}",
                f"{counted} per 1,000 tokens, mean over questions",
                needs,
                "",
                _DENSITY,
                high=1000.0,
                of_item=lambda i, count=count: information_density(count(i), i.tokens or 0),
            )
        )
        rows.append(
            Metric(
                f"information_density_{name}_micro",
                f"{counted} per 1,000 tokens, all questions pooled",
                needs,
                "without tokens",
                _DENSITY,
                high=1000.0,
                of_items=lambda items, count=count: pooled_information_density([count(i) for i in items], [i.tokens or 0 for i in items]),
            )
        )
    return rows  # fmt: skip


LONG_ROWS = (
    Metric(
        "fact_recall", "share of reference facts that the answer states", ("facts",), _NO_FACTS, _RIORAG,
        lambda i: fact_recall(i.facts or ()),
    ),
    Metric(
        "fact_recall_half", "the same, where a fact stated in part counts one half", ("facts",), _NO_FACTS, _RIORAG,
        lambda i: fact_recall(i.facts or (), partial=0.5),
    ),
    *_density_rows(),
    *(
        Metric(
            f"longfact_f1_at_{k}", f"precision of the relevant claims and recall of {k} supported ones", ("claims",), "",
            "Wei et al., NeurIPS 2024", lambda i, k=k: longfact_f1(i.claims or (), k),
        )
        for k in LONGFACT_K
    ),
)  # fmt: skip

COST_ROWS = (
    *(
        Metric(
            name, what, (f"usage.{name}",), "", _OURS, lambda i, name=name: float((i.usage or {})[name]), high=math.inf,
            better="neither" if name in ("graph_claims", "support_edges", "contradiction_edges") else "lower",
        )
        for name, what in COSTS.items()
    ),
    Metric("total_tokens", "tokens read and written by the chat model", _TOKENS, "", _OURS, _spent, high=math.inf, better="lower"),
    Metric(
        "em_strict_per_1000_tokens", "questions answered exactly per 1,000 tokens", ("predicted", *_TOKENS),
        "without tokens or gold answers", _OURS, of_items=_per_1000(_list_em), high=math.inf,
    ),
    Metric(
        "token_f1_per_1000_tokens", "summed token F1 per 1,000 tokens", ("predicted", *_TOKENS), "without tokens or gold answers", _OURS,
        of_items=_per_1000(lambda i: (f := _token_f1(i)) and f.f1), high=math.inf,
    ),
)  # fmt: skip

ROWS: tuple[Metric, ...] = (*ANSWER_ROWS, *LONG_ROWS, *CLAIM_ROWS, *COST_ROWS)
