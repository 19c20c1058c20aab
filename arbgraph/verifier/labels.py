"""Label names: every data set and checkpoint spells the three relations in its own way and order."""

from __future__ import annotations

from collections.abc import Mapping

from arbgraph.schema import RELATION_LABELS, RelationLabel

ALIASES: dict[str, RelationLabel] = {
    **dict.fromkeys(("support", "supports", "supported", "entail", "entails", "entailed", "entailment"), RelationLabel.SUPPORT),
    **dict.fromkeys(
        ("contradict", "contradicts", "contradicted", "contradiction", "contradictory", "refute", "refutes", "refuted"),
        RelationLabel.CONTRADICT,
    ),
    **dict.fromkeys(("neutral", "not enough info", "not enough information", "nei"), RelationLabel.NEUTRAL),
}


class LabelError(ValueError):
    """A label or label map that cannot be read as support, contradict and neutral."""


def parse_label(text: str) -> RelationLabel:
    """The relation that a label names; case, underscores and hyphens do not matter. Raises LabelError on an unknown name."""
    key = " ".join(str(text).lower().replace("_", " ").replace("-", " ").split())
    if key not in ALIASES:
        raise LabelError(f"label {text!r} is unknown; known are {', '.join(sorted(ALIASES))}")
    return ALIASES[key]


def label_columns(id2label: Mapping[int, str] | Mapping[str, str], where: str) -> list[int]:
    """Which logit holds support, contradict and neutral, in that order: `logits[:, columns]` has the project's column order.

    Args:
        id2label: logit position -> label name, as Hugging Face configurations store it.
        where: what the map belongs to, named in the error.

    Raises LabelError unless the map names each of the three relations exactly once, at positions 0, 1, 2.
    """
    shown = ", ".join(f"{key}: {value}" for key, value in id2label.items()) or "empty"
    remedy = "write an id2label that names support, contradict and neutral once each"
    columns: dict[RelationLabel, int] = {}
    for key, name in id2label.items():
        try:
            label, position = parse_label(name), int(key)
        except ValueError as error:
            raise LabelError(f"{where}: label map ({shown}): {error}; {remedy}") from error
        if label in columns:
            raise LabelError(f"{where}: label map ({shown}): {label.value} is named twice; {remedy}")
        columns[label] = position
    missing = [name for name in RELATION_LABELS if RelationLabel(name) not in columns]
    if missing:
        raise LabelError(f"{where}: label map ({shown}): no label for {', '.join(missing)}; {remedy}")
    if sorted(columns.values()) != [0, 1, 2]:
        raise LabelError(f"{where}: label map ({shown}): positions must be 0, 1 and 2")
    return [columns[RelationLabel(name)] for name in RELATION_LABELS]
