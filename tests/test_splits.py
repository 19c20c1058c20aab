from arbgraph.splits import fold_of, split_of


def test_a_question_keeps_its_part_whatever_its_case_and_spacing():
    assert split_of("Who wrote  Emma?") == split_of("who wrote emma? ") == split_of("ＷＨＯ wrote Emma?")


def test_the_shares_are_a_half_a_tenth_and_the_rest():
    parts = [split_of(f"question {number}") for number in range(20_000)]
    assert abs(parts.count("train") / 20_000 - 0.5) < 0.015
    assert abs(parts.count("dev") / 20_000 - 0.1) < 0.01


def test_the_parts_do_not_move():
    assert [split_of(text) for text in ("Who wrote Emma?", "Where is Bern?", "When did it rain?", "Why?")] == PARTS


PARTS = ["dev", "test", "train", "test"]


def test_folds_are_even_and_independent_of_the_split():
    """About a fifth of the questions in each fold, in every part."""
    assert fold_of("Who wrote  Emma?", 5) == fold_of("who wrote emma? ", 5)
    questions = [f"question {number}" for number in range(20_000)]
    for part in ("train", "dev", "test"):
        folds = [fold_of(text, 5) for text in questions if split_of(text) == part]
        for fold in range(5):
            assert abs(folds.count(fold) / len(folds) - 0.2) < 0.03
