"""Times the exact pair search against scikit-learn's brute-force radius search and plain numpy, in one run.

    python benchmarks/pair_mining.py [--sizes 1000 10000 100000] [--threads 2]

Each measurement runs in its own process, so that peak memory belongs to one method. The vectors are clustered: about one
true pair per vector at cosine 0.75. A peer is left out of a size when its time, extrapolated from the previous size
(it grows with the square), would pass `--limit` seconds. On a machine with other work, processor seconds compare better.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.memory import peak_kib

THRESHOLD = 0.75


def vectors(rows: int, dimension: int = 384, seed: int = 0) -> np.ndarray:
    """Unit vectors `[rows, dimension]` float32 in clusters of one to four around random centres."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((rows // 2, dimension)).astype(np.float32)
    points = centres[generator.integers(0, len(centres), rows)]
    points += 0.5 * generator.standard_normal(points.shape, dtype=np.float32)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def run_arbgraph(points: np.ndarray) -> int:
    """Pairs found by `arbgraph.mining.similar_pairs`."""
    import torch

    from arbgraph.mining import similar_pairs

    return similar_pairs(torch.from_numpy(points), THRESHOLD)[0].shape[1]


def run_sklearn(points: np.ndarray) -> int:
    """Pairs found by `NearestNeighbors.radius_neighbors` with cosine distance, brute force."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(radius=1 - THRESHOLD, metric="cosine", algorithm="brute").fit(points)
    found = search.radius_neighbors(points, return_distance=False)
    return sum(int((row > i).sum()) for i, row in enumerate(found))


def run_numpy(points: np.ndarray) -> int:
    """Pairs found by one float32 product per 1000 rows against the rows that follow."""
    pairs = 0
    for start in range(0, len(points), 1000):
        scores = points[start : start + 1000] @ points[start:].T
        pairs += int(np.triu(scores >= THRESHOLD, k=1).sum())
    return pairs


METHODS: dict[str, Callable[[np.ndarray], int]] = {"arbgraph": run_arbgraph, "scikit-learn": run_sklearn, "numpy": run_numpy}


def measure(method: str, rows: int) -> dict[str, float]:
    """Wall and processor seconds, pairs, and peak memory above the start (MiB) of one method, after a warm-up in this process."""
    points = vectors(rows)
    METHODS[method](points[:500])
    before = peak_kib()
    started, worked = time.perf_counter(), time.process_time()
    pairs = METHODS[method](points)
    seconds, processor = time.perf_counter() - started, time.process_time() - worked
    memory = (peak_kib() - before) / 1024
    return {"seconds": seconds, "processor": processor, "pairs": pairs, "mebibytes": memory}


def main() -> None:
    """Prints one line per size and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds beyond which a peer is left out")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "ROWS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        sys.stdout.write(json.dumps(measure(arguments.one[0], int(arguments.one[1]))))
        return
    environment = {"OMP_NUM_THREADS": str(arguments.threads), "OPENBLAS_NUM_THREADS": str(arguments.threads)}
    last: dict[str, tuple[int, float]] = {}
    titles = f"{'rows':>8} {'method':<13} {'seconds':>9} {'cpu s':>9} {'pairs':>9} {'peak MiB':>9} {'x arbgraph':>11}"
    sys.stdout.write(f"{titles}\n")
    for rows in sorted(arguments.sizes):
        ours = 0.0
        for method in METHODS:
            if method in last and last[method][1] * (rows / last[method][0]) ** 2 > arguments.limit:
                sys.stdout.write(f"{rows:>8} {method:<13} {'left out':>9}\n")
                continue
            result = measure_apart(method, rows, environment)
            last[method] = (rows, result["seconds"])
            ours = ours or result["seconds"]
            times = f"{result['seconds']:>9.3f} {result['processor']:>9.3f}"
            line = f"{rows:>8} {method:<13} {times} {result['pairs']:>9.0f} {result['mebibytes']:>9.0f}"
            sys.stdout.write(f"{line} {result['seconds'] / ours:>11.2f}\n")
            sys.stdout.flush()


def measure_apart(method: str, rows: int, environment: dict[str, str]) -> dict[str, float]:
    """`measure` in a process of its own."""
    import os

    command = [sys.executable, __file__, "--one", method, str(rows)]
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
