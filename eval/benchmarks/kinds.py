"""The metrics by which each kind of benchmark is judged, the main one first."""

from __future__ import annotations

# Several right answers, all of them wanted.
LIST_METRICS = (
    "em_strict", "em_substring", "em_clean", "set_f1", "set_precision", "set_recall", "wrong_answer", "containment_all", "answered",
)  # fmt: skip

# One right answer under several names.
ONE_METRICS = (
    "exact_match", "token_f1", "token_precision", "token_recall", "em_substring", "wrong_answer", "containment", "wrong_containment",
    "answered",
)  # fmt: skip

# Answers of several sentences against reference facts; those whose needs nobody checked are reported as missing.
LONG_METRICS = (
    "fact_recall", "fact_recall_half", "information_density_all", "information_density_supported", "information_density_reference",
    "longfact_f1_at_64", "longfact_f1_at_178", "answered",
)  # fmt: skip

RAGCHECKER_METRICS = (
    "ragchecker_f1", "ragchecker_precision", "ragchecker_recall", "ragchecker_claim_recall", "ragchecker_context_precision",
    "ragchecker_context_utilization", "ragchecker_noise_sensitivity_in_relevant", "ragchecker_noise_sensitivity_in_irrelevant",
    "ragchecker_hallucination", "ragchecker_self_knowledge", "ragchecker_faithfulness", "answered",
)  # fmt: skip


def main_first(main: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names with `main` in front."""
    return (main, *(name for name in names if name != main))
