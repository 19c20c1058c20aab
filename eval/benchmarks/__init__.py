"""Benchmarks: questions with conflicting documents, and what a right answer to each would be."""

from eval.benchmarks.base import Benchmark, Item
from eval.benchmarks.registry import UnknownBenchmarkError, benchmarks, open_benchmark

__all__ = ["Benchmark", "Item", "UnknownBenchmarkError", "benchmarks", "open_benchmark"]
