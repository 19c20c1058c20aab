from __future__ import annotations

from eval.card import set_section, table

CARD = "# Name\n\nText.\n\n## Data\n\nrows\n\n## Limits\n\n- few\n"


def test_new_sections_come_before_the_named_one_or_the_limits() -> None:
    once = set_section(CARD, "Evaluation", ["numbers"])
    assert once == "# Name\n\nText.\n\n## Data\n\nrows\n\n## Evaluation\n\nnumbers\n\n## Limits\n\n- few\n"
    both = set_section(once, "Calibration", ["T"], before="Evaluation")
    assert both.index("## Calibration\n\nT\n\n## Evaluation") > 0


def test_a_section_is_replaced_in_its_place() -> None:
    card = set_section(set_section(CARD, "Data", ["first", "| a |"]), "Data", ["second \\1"])
    assert card == "# Name\n\nText.\n\n## Data\n\nsecond \\1\n\n## Limits\n\n- few\n"
    assert set_section(card, "Data", ["second \\1"]) == card


def test_a_longer_heading_is_another_section() -> None:
    card = "# Name\n\n## Data and more\n\nkept\n"
    assert set_section(card, "Data", ["new"]) == "# Name\n\n## Data and more\n\nkept\n\n## Data\n\nnew\n"


def test_the_last_section_and_an_empty_card() -> None:
    assert set_section(CARD, "Limits", ["none"]).endswith("## Limits\n\nnone\n")
    assert set_section("", "Data", ["x"]).strip() == "## Data\n\nx"


def test_table() -> None:
    assert table(["a", "b"], [["1", "2"]]) == ["| a | b |", "|---|---|", "| 1 | 2 |"]
