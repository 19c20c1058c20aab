"""The short-answer reader: question and passage -> the span that answers it, with its place and probability, or none."""

from arbgraph.reader.reader import KIND, Answers, Reader, ReaderCalibration, Span

__all__ = ["KIND", "Answers", "Reader", "ReaderCalibration", "Span"]
