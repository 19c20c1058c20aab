"""The table of benchmarks."""

from __future__ import annotations

from eval.benchmarks.base import Benchmark


class UnknownBenchmarkError(LookupError):
    """A benchmark name that the table does not hold; the message lists those it does."""


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name, in the order of the table."""
    from eval.benchmarks import attacks, cagb, generated_misinformation, long_form, multihop, ramdocs, rgb, wikicontradict

    families = (ramdocs, rgb, cagb, generated_misinformation, wikicontradict, attacks, multihop, long_form)
    return {row.name: row for family in families for row in family.BENCHMARKS}


def open_benchmark(name: str) -> Benchmark:
    """A benchmark by name. Raises UnknownBenchmarkError."""
    known = benchmarks()
    if name not in known:
        raise UnknownBenchmarkError(f"benchmark {name!r} is not known; choose one of {', '.join(known)}, or custom with a file of your own")
    return known[name]
