from __future__ import annotations

import math
import shutil

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbgraph.checkpoint import CheckpointError
from arbgraph.reader import Answers, Reader, ReaderCalibration, Span
from arbgraph.reader.reader import log_odds, same_text

PASSAGES = [
    "The tower was built in 1889 by Gustave Eiffel; it is 330 m tall.",
    "",
    "Łódź — the city of “four cultures” — had 670,642 inhabitants… in 2020 😀.",
    "short",
    "word " * 300 + "end.",
]
QUESTIONS = ["When was the tower built?", "Who?", "What is the population of Łódź?", "", "What ends it?"]


def test_offsets_are_exact_and_probabilities_add_up(reader: Reader) -> None:
    for passage, answers in zip(PASSAGES, reader.read(QUESTIONS, PASSAGES, n_best=50), strict=True):
        assert 0 <= answers.no_answer <= 1
        assert answers.no_answer + sum(span.score for span in answers) <= 1 + 1e-9
        for span in answers:
            assert span.text == passage[span.start : span.end] != ""
            assert 0 <= span.score <= 1
        assert [span.score for span in answers] == sorted((span.score for span in answers), reverse=True)
        assert len({same_text(span.text) for span in answers}) == len(answers)


def test_a_batch_reads_as_each_alone(reader: Reader) -> None:
    together = reader.read(QUESTIONS, PASSAGES, n_best=3)
    for place, answers in enumerate(together):
        alone = reader.read(QUESTIONS[place : place + 1], PASSAGES[place : place + 1], n_best=3)[0]
        assert alone.no_answer == pytest.approx(answers.no_answer, abs=1e-5)
        assert [(s.start, s.end) for s in alone] == [(s.start, s.end) for s in answers]
        assert [s.score for s in alone] == pytest.approx([s.score for s in answers], abs=1e-5)


def test_padding_changes_nothing(reader: Reader) -> None:
    windows = reader.tokenizer.windows("When was the tower built?", PASSAGES[0])
    long = reader.tokenizer.windows("Who?", "word " * 30)
    with torch.inference_mode():
        spans, none = reader.model(reader.tokenizer.batch(windows))
        padded, padded_none = reader.model(reader.tokenizer.batch([*windows, *long]))
    length = spans.shape[1]
    assert padded.shape[1] > length
    assert torch.allclose(none, padded_none[:1], atol=1e-5)
    assert torch.allclose(spans.exp(), padded[:1, :length].exp(), rtol=1e-3, atol=1e-5)
    assert bool((padded[0, length:] == float("-inf")).all())


def test_a_span_in_a_later_window_is_found(knows_zebra: Reader) -> None:
    passage = "horse " * 100 + "zebra " + "horse " * 20
    assert len(knows_zebra.tokenizer.windows("What animal is striped?", passage)) > 3
    answers = knows_zebra.read(["What animal is striped?"], [passage])[0]
    assert answers[0] == Span("zebra", 600, 605, answers[0].score)
    assert answers.best == answers[0]
    assert answers[0].score > 0.7


def test_a_word_in_two_windows_counts_once(knows_zebra: Reader) -> None:
    """One softmax: zebra exp(6), horse exp(-6) at each of its places, no answer 1."""
    places = 70
    passage = "horse " * 30 + "zebra " + "horse " * (places - 30)
    answers = knows_zebra.read(["Which?"], [passage], n_best=2)[0]
    windows = knows_zebra.tokenizer.windows("Which?", passage)
    # The mass outside the kept spans is summed window by window, so overlapping words may count twice there: a bound, not an equality.
    least = math.exp(6) / (1 + math.exp(6) + 2 * places * math.exp(-6))
    most = math.exp(6) / (1 + math.exp(6) + places * math.exp(-6) / 2)
    assert len(windows) > 1
    assert least <= answers[0].score <= most


def test_the_same_text_at_two_places_is_one_answer_with_both_masses(knows_zebra: Reader) -> None:
    answers = knows_zebra.read(["Which?"], ["zebra or Zebra"], n_best=5)[0]
    other = math.exp(-6)
    total = 2 * math.exp(6) + other + 1
    assert (answers[0].text, answers[0].start) == ("zebra", 0)
    assert answers[0].score == pytest.approx(2 * math.exp(6) / total, abs=1e-5)
    assert answers.no_answer == pytest.approx(1 / total, abs=1e-6)


def test_no_answer_where_the_word_is_missing(knows_zebra: Reader) -> None:
    answers = knows_zebra.read(["Which?"], ["a horse and a cow"])[0]
    assert answers.best is None
    assert answers.no_answer == pytest.approx(1 / (1 + 5 * math.exp(-6)), abs=1e-5)


def test_an_empty_passage_has_no_span(reader: Reader) -> None:
    answers = reader.read(["When?"], [""])[0]
    assert len(answers) == 0
    assert answers.no_answer == 1.0
    assert answers.best is None
    assert reader.read([], []) == []


def test_counts_must_agree(reader: Reader) -> None:
    with pytest.raises(ValueError, match="2 questions and 1 passages"):
        reader.read(["a", "b"], ["c"])


def test_a_saved_reader_reads_alike(saved, reader: Reader, tmp_path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    again = Reader.load(copy, device="cpu")
    assert again.read(QUESTIONS, PASSAGES) == reader.read(QUESTIONS, PASSAGES)
    assert again.calibration == ReaderCalibration(1.5, 0.25)
    (copy / "head.safetensors").write_bytes(b"damaged")
    with pytest.raises(CheckpointError):
        Reader.load(copy)


def test_bf16_reads_nearly_alike(saved, reader: Reader) -> None:
    fast = Reader.load(saved, device="cpu", precision="bf16").read(QUESTIONS, PASSAGES)
    for one, other in zip(reader.read(QUESTIONS, PASSAGES), fast, strict=True):
        assert other.no_answer == pytest.approx(one.no_answer, abs=0.05)
    with pytest.raises(ValueError, match="choose fp32 or bf16"):
        Reader.load(saved, precision="int8")  # pyright: ignore[reportArgumentType]


def test_calibration_divides_and_shifts() -> None:
    odds = log_odds(torch.tensor([[[4.0]]]), torch.tensor([1.0]), ReaderCalibration(temperature=2.0, bias=0.5))
    assert odds.item() == pytest.approx(1.0)


def test_answers_are_a_sequence() -> None:
    answers = Answers((Span("a b", 0, 3, 0.6), Span("b", 2, 3, 0.2)), 0.2)
    assert [span.text for span in answers] == ["a b", "b"]
    assert len(answers) == 2
    assert answers[-1].text == "b"
    assert answers.best == answers[0]
    assert Answers(answers.spans, 0.7).best is None


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80), st.text(max_size=200))
def test_any_text_is_read(reader: Reader, question: str, passage: str) -> None:
    answers = reader.read([question], [passage], n_best=3)[0]
    assert all(span.text == passage[span.start : span.end] for span in answers)
    assert 0 <= answers.no_answer <= 1
