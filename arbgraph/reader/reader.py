"""Reading: question and passage -> the short spans that answer it, each with its probability, or none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

import torch
from torch import Tensor

from arbgraph.checkpoint import ADAPTER_CONFIG, Checkpoint, CheckpointError, load_checkpoint
from arbgraph.encoder import length_sorted_batches
from arbgraph.reader.model import ReaderModel, SpanHead
from arbgraph.reader.tokens import ReaderTokenizer, Window
from arbgraph.verifier.backbone import load_backbone, load_config, load_tokenizer

KIND = "Reader"
Precision = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Span:
    """An answer: `text` is `passage[start:end]`, and `score` in [0, 1] the probability that it is what the passage states.

    Where a text stands several times, the score is of all its places and the offsets are of the likeliest.
    """

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Answers(Sequence[Span]):
    """What a passage answers: distinct texts, likeliest first, and `no_answer` in [0, 1], the probability that it states no answer."""

    spans: tuple[Span, ...]
    no_answer: float

    @overload
    def __getitem__(self, place: int) -> Span: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Span]: ...
    def __getitem__(self, place: int | slice) -> Span | Sequence[Span]:
        return self.spans[place]

    def __len__(self) -> int:
        return len(self.spans)

    def __iter__(self) -> Iterator[Span]:
        return iter(self.spans)

    @property
    def best(self) -> Span | None:
        """The likeliest span where an answer is likelier than none; None otherwise."""
        return self.spans[0] if self.spans and self.no_answer < 0.5 else None


@dataclass(frozen=True)
class ReaderCalibration:
    """Scores are divided by `temperature`, and `bias` is added to that of no answer."""

    temperature: float = 1.0
    bias: float = 0.0


@dataclass
class _Candidates:
    """The likeliest spans of one passage over its windows, as log odds against no answer; `rest` is the mass of the others."""

    spans: dict[tuple[int, int], float] = field(default_factory=dict)
    rest: list[float] = field(default_factory=list)


class Reader:
    """A short-answer reader for many passages at once.

    Args:
        model: the network, in eval mode.
        tokenizer: windows and batches.
        calibration: of the scores.
        batch_size: windows per forward pass.
        device: a torch device; None takes CUDA where there is one.
        precision: bf16 is two to three times as fast on hardware that multiplies in it, and moves probabilities by about 0.01.
        checkpoint: that the network was loaded from.
    """

    def __init__(
        self,
        model: ReaderModel,
        tokenizer: ReaderTokenizer,
        calibration: ReaderCalibration | None = None,
        *,
        batch_size: int = 32,
        device: str | None = None,
        precision: Precision = "fp32",
        checkpoint: Checkpoint | None = None,
    ) -> None:
        if precision not in ("fp32", "bf16"):
            raise ValueError(f"precision {precision!r}; choose fp32 or bf16")
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.model, self.tokenizer = model.to(self.device).eval(), tokenizer
        self.calibration, self.batch_size, self.checkpoint = calibration or ReaderCalibration(), batch_size, checkpoint
        self.precision = precision

    @classmethod
    def load(
        cls,
        name: str | Path = "reader-minilm",
        *,
        batch_size: int = 32,
        device: str | None = None,
        precision: Precision = "fp32",
        offline: bool = True,
    ) -> Reader:
        """The reader of a checkpoint folder, or of a shipped one by name. Raises CheckpointError on one that is missing or damaged."""
        checkpoint = load_checkpoint(name, kind=KIND)
        model, tokenizer = load_reader(checkpoint, offline=offline)
        calibration = ReaderCalibration(**(checkpoint.config.calibration or {}))
        return cls(model, tokenizer, calibration, batch_size=batch_size, device=device, precision=precision, checkpoint=checkpoint)

    def read(self, questions: Sequence[str], passages: Sequence[str], *, n_best: int = 5) -> list[Answers]:
        """Reads each passage with the question at the same place.

        Args:
            questions, passages: of the same number. A passage beyond the model's window is read in overlapping windows.
            n_best: distinct answers kept a passage.

        Raises ValueError when the numbers differ.
        """
        if len(questions) != len(passages):
            raise ValueError(f"{len(questions)} questions and {len(passages)} passages; give one question a passage")
        windows: list[Window] = []
        owner: list[int] = []
        for row, (question, passage) in enumerate(zip(questions, passages, strict=True)):
            made = self.tokenizer.windows(question, passage)
            windows += made
            owner += [row] * len(made)
        found = [_Candidates() for _ in passages]
        for rows in length_sorted_batches([len(window.ids) for window in windows], self.batch_size):
            for row, top, rest in self._scored([windows[row] for row in rows], keep=max(20, 4 * n_best)):
                one = found[owner[rows[row]]]
                for place, odds in top.items():
                    one.spans[place] = max(odds, one.spans.get(place, -math.inf))
                one.rest.append(rest)
        return [_answers(passage, one, n_best) for passage, one in zip(passages, found, strict=True)]

    @torch.inference_mode()
    def _scored(self, windows: list[Window], *, keep: int) -> Iterator[tuple[int, dict[tuple[int, int], float], float]]:
        """Per window: its row, the log odds of its likeliest spans by character offsets, and the log mass of the others."""
        batch = {name: tensor.to(self.device) for name, tensor in self.tokenizer.batch(windows).items()}
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"):
            spans, none = self.model(batch)
        spans, none = spans.float().cpu(), none.float().cpu()
        odds = log_odds(spans, none, self.calibration).flatten(1)
        values, places = odds.topk(min(keep, odds.shape[1]), dim=1)
        rest = odds.scatter(1, places, float("-inf")).logsumexp(1)
        width = spans.shape[2]
        for row, window in enumerate(windows):
            top = {}
            for value, place in zip(values[row].tolist(), places[row].tolist(), strict=True):
                if value > -math.inf:
                    first = place // width
                    top[window.offsets[first][0], window.offsets[first + place % width][1]] = value
            yield row, top, float(rest[row])


def log_odds(spans: Tensor, none: Tensor, calibration: ReaderCalibration) -> Tensor:
    """Log odds of every span against no answer, `[B, L, W]`, from scores `[B, L, W]` and `[B]`."""
    return (spans - none[:, None, None]) / calibration.temperature - calibration.bias


def _answers(passage: str, found: _Candidates, n_best: int) -> Answers:
    """Distinct texts with their probabilities: one softmax over all windows, in which no answer has odds 1."""
    everything = torch.tensor([0.0, *found.spans.values(), *found.rest], dtype=torch.float64)
    total = float(everything.logsumexp(0))
    merged: dict[str, list[tuple[float, int, int]]] = {}
    for (start, end), odds in found.spans.items():
        text = passage[start:end]
        merged.setdefault(same_text(text), []).append((math.exp(odds - total), start, end))
    spans = []
    for places in merged.values():
        _, start, end = max(places, key=lambda place: (place[0], -place[1]))
        spans.append(Span(passage[start:end], start, end, min(1.0, sum(place[0] for place in places))))
    spans.sort(key=lambda span: (-span.score, span.start, span.end))
    return Answers(tuple(spans[:n_best]), math.exp(-total))


def same_text(text: str) -> str:
    """What two texts share that are one answer: lower-cased words without a leading article; the text itself where it has no word."""
    words = re.findall(r"\w+", text.casefold())
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words) or text


def load_reader(checkpoint: Checkpoint, *, offline: bool = True, trainable: bool = False) -> tuple[ReaderModel, ReaderTokenizer]:
    """Network and tokenizer of a checkpoint, in eval mode. Raises CheckpointError on another base or settings it does not know."""
    base = checkpoint.resolve_base(offline=offline)
    config = load_config(base)
    encoder = load_backbone(base, config)
    whole = checkpoint.encoder()
    if whole is not None:
        encoder.load_state_dict(whole)
    elif ADAPTER_CONFIG in checkpoint.config.files:
        encoder = checkpoint.adapt(encoder, trainable=trainable)
        if not trainable:
            # One matrix in place of three: the same numbers but for rounding, in less time.
            encoder = encoder.merge_and_unload()  # pyright: ignore[reportCallIssue]
    settings: dict[str, Any] = checkpoint.config.settings
    try:
        head = SpanHead(config.hidden_size, width=settings["width"], rank=settings["rank"], dropout=settings["dropout"])
        model = ReaderModel(encoder, head, config.hidden_size)
        missing = model.load_state_dict(checkpoint.head(), strict=False)
        tokenizer = ReaderTokenizer(
            load_tokenizer(base, config),
            max_tokens=checkpoint.config.max_tokens or 224,
            max_question=settings["max_question"],
            overlap=settings["overlap"],
        )
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(f"{checkpoint.path}: its settings or tensors do not make a reader: {error}") from error
    lost = [name for name in missing.missing_keys if not name.startswith("encoder.")]
    if lost or missing.unexpected_keys:
        raise CheckpointError(f"{checkpoint.path}: tensors missing: {lost or 'none'}; unknown: {missing.unexpected_keys or 'none'}")
    return model.eval(), tokenizer
