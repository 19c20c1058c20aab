"""Times credibility propagation against a plain-Python loop, networkx and torch sparse products, in one run.

    python -m benchmarks.propagation [--claims '[1000, 100000, 1000000]'] [--degree 10] [--rounds 4] [--threads 2] [--json OUT]

One graph of N claims and N * degree pairs, all of them contradictions with a verdict, at prior 0.5 and without a budget: every pair
does its work. Pairs are sorted by their first claim, as the pair search yields them; the second claim is random. Graphs are float32.

Every measurement runs in a process of its own, so that peak memory (resident set; on a GPU, memory allocated) belongs to one case.
The Python loops run at 10,000 claims at most; larger sizes are extrapolated linearly and marked with a star. The sparse product
computes the same round as s += eta * active * (A @ active), with A the signed win matrix in CSR; building A is given apart.

The bandwidth bound is what any implementation has to move for a forward pass: per pair, the edge fields once (two indices of 8 bytes,
relation 12, similarity 4, verdict 12), and in every round two indices and one byte of verdict; the logits, which fit into a cache, are
not counted. Divided by the bandwidth of a large copy, measured in the same run with the same threads, that is the least time;
`bound` is its share of the time taken. On a machine with other work, processor seconds (of all threads) compare better.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from jsonargparse import auto_cli
from rich.console import Console
from rich.table import Table

from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.credibility import CredibilityPropagation
from benchmarks.memory import peak_kib

LOOP_CLAIMS = 10_000
RELATION = (0.1, 0.8, 0.1)
VERDICTS = ((0.9, 0.05, 0.05), (0.05, 0.9, 0.05), (0.4, 0.3, 0.3))
SECONDS = 1.0  # a case repeats until it has run for so long, at most 20 times


@dataclass(frozen=True)
class Case:
    """One measurement: `method`, a name of `METHODS`, or `copy`, or `equality`; `backward` adds the backward pass."""

    method: str
    claims: int
    degree: int
    rounds: int
    backward: bool = False
    device: str = "cpu"
    threads: int = 2


@dataclass(frozen=True)
class Result:
    """Median `seconds` of a run and its `processor` seconds, `setup` seconds of what is built once before, peak `bytes`, `accepted`
    claims as a checksum."""

    seconds: float
    processor: float
    setup: float
    bytes: int
    accepted: int


def random_graph(claims: int, degree: int, device: str = "cpu", seed: int = 0) -> EvidenceGraph:
    """`claims * degree` different contradictions: claim i of a random order against those a few random steps further on."""
    if claims <= 2 * degree:
        raise ValueError(f"{claims} claims are too few for {degree} pairs each; take more than {2 * degree}")
    draw = torch.Generator().manual_seed(seed)
    order = torch.randperm(claims, generator=draw)
    steps = 1 + torch.randperm((claims - 1) // 2, generator=draw)[:degree]
    place = torch.arange(claims)
    ends = torch.stack([order.repeat(degree), torch.cat([order[(place + step) % claims] for step in steps.tolist()])])
    key = (ends.amin(dim=0) * claims + ends.amax(dim=0)).sort().values
    pairs = torch.stack([key // claims, key % claims])
    kind = torch.randint(len(VERDICTS), (pairs.shape[1],), generator=draw)
    return EvidenceGraph.build(
        torch.full((claims,), 0.5),
        pairs,
        torch.tensor(RELATION).repeat(pairs.shape[1], 1),
        verdict=torch.tensor(VERDICTS)[kind],
    ).to(device)


def layer_of(case: Case, mode: Any) -> CredibilityPropagation:
    """The layer under test; with a backward pass, the step size learns."""
    return CredibilityPropagation(rounds=case.rounds, budget=None, mode=mode, learn=["step_size"] if case.backward else [])


def prepare_layer(case: Case, graph: EvidenceGraph, mode: str) -> Callable[[], int]:
    """The layer in `mode`, forward, or forward and backward from the mean credibility to the priors and the step size."""
    layer = layer_of(case, mode)
    graph.prior.requires_grad_(case.backward)

    def run() -> int:
        with torch.set_grad_enabled(case.backward):
            trace = layer(graph)
            if case.backward:
                (trace.p.mean() + trace.acceptance.mean()).backward()
        return int(trace.accepted.sum())

    return run


def prepare_sparse(case: Case, graph: EvidenceGraph) -> Callable[[], int]:
    """The exact rounds as products with the signed win matrix `[N, N]` in CSR: +1 where the row beats the column, -1 where it loses."""
    layer = layer_of(case, "exact")
    n = case.claims
    wins = torch.sign(graph.verdict[:, 0] - graph.verdict[:, 1]) * (graph.verdict[:, :2].amax(dim=1) >= layer.tau_gate.item())
    index, value = torch.cat([graph.pair_index, graph.pair_index.flip(0)], dim=1), torch.cat([wins, -wins])
    matrix = torch.sparse_coo_tensor(index, value, (n, n), check_invariants=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CSR is announced as a beta feature.
        matrix = matrix.coalesce().to_sparse_csr()
    threshold, start = math.log(0.3 / 0.7), torch.logit(graph.prior)

    def run() -> int:
        s = start
        for _ in range(case.rounds):
            active = (s > threshold).to(s)
            s = s + 0.8 * active * (matrix @ active.unsqueeze(1)).squeeze(1)
        return int((s >= threshold).sum())

    return run


def prepare_plain(case: Case, graph: EvidenceGraph) -> Callable[[], int]:
    """The oracle of the tests, one pair at a time."""
    from tests.reference.algorithm1 import algorithm1

    pairs, relation, verdict = ([tuple(row) for row in rows.tolist()] for rows in (graph.pair_index.T, graph.relation, graph.verdict))
    start, similarity, relevance = torch.logit(graph.prior).tolist(), graph.similarity.tolist(), graph.relevance.tolist()
    options = {"step_size": 0.8, "tau_accept": 0.3, "tau_gate": 0.5, "tau_q": 0.3, "tau_sim": 0.75, "tau_conf": 0.5}

    def run() -> int:
        _, accepted, _ = algorithm1(
            start,
            pairs,
            relation,
            similarity,
            relevance,
            lambda e: verdict[e],
            rounds=case.rounds,
            budget=None,
            early_stop=False,
            **options,
        )
        return sum(accepted)

    return run


def prepare_networkx(case: Case, graph: EvidenceGraph) -> Callable[[], int]:
    """A loop over the edges of a networkx graph that carries logits on its nodes and verdicts on its edges."""
    import networkx

    network = networkx.Graph()
    network.add_nodes_from((i, {"s": s}) for i, s in enumerate(torch.logit(graph.prior).tolist()))
    network.add_edges_from(
        (a, b, {"relation": r, "verdict": v})
        for (a, b), r, v in zip(graph.pair_index.T.tolist(), graph.relation.tolist(), graph.verdict.tolist(), strict=True)
    )
    threshold = math.log(0.3 / 0.7)

    def run() -> int:
        credibility = dict(network.nodes(data="s"))
        for _ in range(case.rounds):
            net = dict.fromkeys(network, 0)
            for a, b, edge in network.edges(data=True):
                contradiction = edge["relation"][1] >= 0.5 and max(edge["relation"]) == edge["relation"][1]
                if contradiction and min(credibility[a], credibility[b]) > threshold:
                    wins_a, wins_b, _ = edge["verdict"]
                    if max(wins_a, wins_b) >= 0.5 and wins_a != wins_b:
                        vote = 1 if wins_a > wins_b else -1
                        net[a] += vote
                        net[b] -= vote
            credibility = {i: s + 0.8 * net[i] for i, s in credibility.items()}
        return sum(s >= threshold for s in credibility.values())

    return run


METHODS: dict[str, Callable[[Case, EvidenceGraph], Callable[[], int]]] = {
    "arbgraph exact": lambda case, graph: prepare_layer(case, graph, "exact"),
    "arbgraph soft": lambda case, graph: prepare_layer(case, graph, "soft"),
    "torch sparse": prepare_sparse,
    "plain Python": prepare_plain,
    "networkx": prepare_networkx,
}
LOOPS = ("plain Python", "networkx")


def copy_bandwidth(device: str) -> float:
    """Bytes per second that a copy of 256 MiB reads and writes, the best of five."""
    source = torch.ones(2**26, device=device)
    target = torch.empty_like(source)
    best = min(timed(lambda: target.copy_(source), device)[0] for _ in range(6))
    return 2 * source.numel() * source.element_size() / best


def timed(run: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Seconds of one run, and its result."""
    started = time.perf_counter()
    result = run()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started, result


def measure(case: Case) -> Result:
    """Runs a case in this process: once to warm up, then until `SECONDS` have passed."""
    torch.set_num_threads(case.threads)
    graph = random_graph(case.claims, case.degree, case.device)
    setup, run = timed(lambda: METHODS[case.method](case, graph), case.device)
    if case.method not in LOOPS:
        run()
    seconds: list[float] = []
    accepted, started = 0, time.process_time()
    while not seconds or (sum(seconds) < SECONDS and len(seconds) < 20):
        elapsed, accepted = timed(run, case.device)
        seconds.append(elapsed)
    processor = (time.process_time() - started) / len(seconds)
    peak = peak_kib() * 1024
    if case.device == "cuda":
        peak = torch.cuda.max_memory_allocated()
    return Result(sorted(seconds)[len(seconds) // 2], processor, setup, peak, accepted)


def compare_devices(case: Case) -> dict[str, Any]:
    """The layer on the CPU and on the GPU: the largest difference of a logit in every mode, and whether the same claims are accepted.

    In exact mode the votes are whole numbers, so that only the logits of the priors may differ, in their last bits.
    """
    graph = random_graph(case.claims, case.degree)
    found: dict[str, Any] = {"claims": case.claims}
    for mode in ("exact", "soft", "straight_through"):
        here, there = (layer_of(case, mode)(graph.clone().to(device)) for device in ("cpu", "cuda"))
        difference = float((here.s - there.s.cpu()).abs().max())
        found[mode] = {"largest_difference": difference, "same_accepted": bool(torch.equal(here.accepted, there.accepted.cpu()))}
    return found


def measure_apart(case: Case) -> dict[str, Any]:
    """`measure`, `copy_bandwidth` or `compare_devices`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.propagation", "--one", json.dumps(asdict(case))]
    threads = {name: str(case.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    done = subprocess.run(command, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{case.method} with {case.claims} claims ended with status {done.returncode}; its message is above")
    return json.loads(done.stdout)


def least_seconds(case: Case, bandwidth: float) -> float:
    """The memory-bandwidth bound of a forward pass; see the head of this file."""
    return case.claims * case.degree * ((16 + 12 + 4 + 12) + case.rounds * (16 + 1)) / bandwidth


def cases_of(claims: int, degree: int, rounds: int, threads: int, device: str) -> list[Case]:
    """All measurements of one size; the Python loops run on the CPU, whatever the device."""
    common = {"claims": claims, "degree": degree, "rounds": rounds, "threads": threads, "device": device}
    found = [Case(method, backward=backward, **common) for method in ("arbgraph exact", "arbgraph soft") for backward in (False, True)]
    found.append(Case("torch sparse", **common))
    return found + [Case(name, **{**common, "claims": min(claims, LOOP_CLAIMS), "device": "cpu"}) for name in LOOPS]


def run(
    claims: list[int] = [1000, 100_000, 1_000_000],  # noqa: B006
    degree: int = 10,
    rounds: int = 4,
    threads: int = 2,
    devices: list[str] | None = None,
    json: Path | None = None,
    one: str | None = None,
) -> None:
    """Measures every size and method and prints a table.

    Args:
        claims: sizes N of the graph. degree: pairs per claim. rounds: T. threads: of torch. json: file for all numbers.
        devices: `cpu` and `cuda`; by default the CPU, and the GPU where there is one. With a GPU, the results of both are compared.
        one: a single case as JSON; used for the measuring processes.
    """
    if one is not None:
        _measure_here(one)
        return
    report: dict[str, Any] = {"environment": _environment(threads), "bandwidth": {}, "cases": []}
    loops: dict[str, tuple[int, dict[str, Any]]] = {}
    for device in devices or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        bandwidth = measure_apart(Case("copy", 0, degree, rounds, device=device, threads=threads))["bandwidth"]
        report["bandwidth"][device] = bandwidth
        for size in sorted(claims):
            report["cases"] += [_row(case, size, bandwidth, loops) for case in cases_of(size, degree, rounds, threads, device)]
        if device == "cuda":
            report["equality"] = measure_apart(Case("equality", min(max(claims), 100_000), degree, rounds, threads=threads))
    for row in report["cases"]:
        plain = next(r for r in report["cases"] if r["method"] == "plain Python" and r["claims"] == row["claims"])
        row["times_plain"] = plain["seconds"] / row["seconds"]
    Console(width=130).print(_table(report))
    if json is not None:
        _write(json, report)
    if not all(found["same_accepted"] for found in report.get("equality", {}).values() if isinstance(found, dict)):
        raise SystemExit(f"the GPU accepts other claims than the CPU: {report['equality']}")


def _row(case: Case, size: int, bandwidth: float, loops: dict[str, tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    """The numbers of a case at `size` claims; one measurement of a loop, kept in `loops`, serves all sizes from LOOP_CLAIMS on."""
    known = loops.get(case.method)
    result = known[1] if known and known[0] == case.claims else measure_apart(case)
    if case.method in LOOPS:
        loops[case.method] = (case.claims, result)
    scale = size / case.claims
    row = asdict(case) | result | {"claims": size, "extrapolated": scale > 1}
    row |= {name: result[name] * scale for name in ("seconds", "processor")}
    row["claims_per_second"] = size / row["seconds"]
    row["bound"] = None if case.backward or case.method in LOOPS else least_seconds(case, bandwidth) / row["seconds"]
    return row


def _measure_here(text: str) -> None:
    case = Case(**json.loads(text))
    torch.set_num_threads(case.threads)
    if case.method == "copy":
        found = {"bandwidth": copy_bandwidth(case.device)}
    else:
        found = compare_devices(case) if case.method == "equality" else asdict(measure(case))
    sys.stdout.write(json.dumps(found))


def _environment(threads: int) -> dict[str, Any]:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"torch": torch.__version__, "python": platform.python_version(), "machine": platform.machine(), "threads": threads, "gpu": gpu}


def _write(path: Path, report: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _table(report: dict[str, Any]) -> Table:
    copies = ", ".join(f"{device} {bandwidth / 1e9:.1f} GB/s" for device, bandwidth in report["bandwidth"].items())
    table = Table(title=f"Credibility propagation; copy bandwidth {copies}", caption="* extrapolated linearly from 10,000 claims")
    for name in ("claims", "method", "pass", "device", "seconds", "cpu s", "setup s", "claims/s", "x plain", "peak GiB", "bound"):
        table.add_column(name, justify="left" if name in ("method", "pass", "device") else "right", no_wrap=True)
    for row in report["cases"]:
        star = "*" if row["extrapolated"] else ""
        table.add_row(
            f"{row['claims']:,}",
            row["method"],
            "forward + backward" if row["backward"] else "forward",
            row["device"],
            f"{row['seconds']:.4g}{star}",
            f"{row['processor']:.4g}{star}",
            f"{row['setup']:.2f}" if row["method"] == "torch sparse" else "",
            f"{row['claims_per_second']:,.0f}",
            f"{row['times_plain']:.3g}",
            "" if row["extrapolated"] else f"{row['bytes'] / 2**30:.2f}",
            "" if row["bound"] is None else f"{row['bound']:.0%}",
        )
    return table


if __name__ == "__main__":
    auto_cli(run)
