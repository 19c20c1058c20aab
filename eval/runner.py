"""Runs a system on a benchmark: answers question by question into a run folder, then scores what is stored there."""

from __future__ import annotations

import inspect
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from arbgraph.io import InputError
from arbgraph.schema import Answer, Failed
from arbgraph.systems import System, open_system, systems
from eval.benchmarks import Benchmark, Item, open_benchmark
from eval.benchmarks.base import UNTRUE
from eval.benchmarks.custom import Columns, custom
from eval.checking import Checked
from eval.metrics.answers import collides
from eval.metrics.table import score
from eval.processes import Processes, environment, find_processes
from eval.run_folder import RunFolder
from eval.scoring import all_scored, failures_of, judge, needs_judging, open_checker, score_with_failures

ASKS = {"chat", "option scores", "white box"}  # needs of a system that a chat model meets
AUTO_CHAT = "smollm2"
COSTS = ("calls", "prompt_tokens", "completion_tokens", "total_tokens")
# What a document of the ideal setting is worth, by whether the data says that it is untrue (Pan et al., arXiv 2404.06809).
TRUSTED, UNTRUSTED = 1.0, 0.1


@dataclass(frozen=True)
class RunConfig:
    """What is run on what.

    Args:
        benchmark: name (`python -m eval.benchmarks` lists them), or `custom` with `data`.
        system: name (`arbgraph.systems`).
        system_options: arguments of the system's class.
        chat: a chat model (`smollm2`, `hf:NAME`, `openai:MODEL@URL`); `auto` is smollm2 for systems that ask one, and none for others.
        chat_options: arguments of the chat model.
        cache: a file that keeps the replies of the chat model.
        split: of the benchmark; null takes the last, `all` takes every one.
        limit: at most so many questions, evenly spaced.
        root: folder of the benchmark data.
        data: a file of your own questions.
        columns: which column of that file holds what.
        wanted: whether all gold answers of that file are wanted, or one of them.
        credibility: what systems are told of the documents: nothing, or `ideal`, 0.1 for untrue ones and 1 for all others.
        metrics: names (`eval.metrics.table`); null takes the benchmark's and the cost.
        checker: judges claims of long answers: a relation verifier, `chat:NAME`, or `none`; asked where a metric needs it.
        batch_size: questions that a system gets at once.
        seed: of random, numpy and torch before the system is built.
        max_failed: share of failed questions above which the run counts as failed.
    """

    benchmark: str
    system: str
    system_options: dict[str, Any] = field(default_factory=dict)
    chat: str = "auto"
    chat_options: dict[str, Any] = field(default_factory=dict)
    cache: str | None = None
    split: str | None = None
    limit: int | None = None
    root: str = "data"
    data: str | None = None
    columns: Columns = field(default_factory=Columns)
    wanted: Literal["all", "one"] = "all"
    credibility: Literal["none", "ideal"] = "none"
    metrics: list[str] | None = None
    checker: str = "verifier-minilm"
    batch_size: int = 8
    seed: int = 0
    max_failed: float = 0.05

    def __post_init__(self) -> None:
        if self.batch_size < 1 or (self.limit is not None and self.limit < 1):
            raise InputError(f"batch_size is {self.batch_size} and limit {self.limit}; both are at least 1")
        if not 0 <= self.max_failed <= 1:
            raise InputError(f"max_failed is {self.max_failed}; it is a share, from 0 to 1")
        if (self.benchmark == "custom") != (self.data is not None):
            raise InputError("benchmark custom and a file of your own (data) go together; give both or neither")

    def open_benchmark(self) -> Benchmark:
        """Raises UnknownBenchmarkError."""
        return custom(self.data, self.columns, self.wanted) if self.data is not None else open_benchmark(self.benchmark)

    def items(self, benchmark: Benchmark) -> list[Item]:
        """The questions of the run, as its systems see them. Raises InputError."""
        from eval.pair_sets import evenly

        items = evenly(benchmark.load(self.root, self.split), self.limit)
        return [with_ideal_credibility(item) for item in items] if self.credibility == "ideal" else items


def with_ideal_credibility(item: Item) -> Item:
    """The item with a credibility on every document that has a label. Raises InputError where none has."""
    if not item.labels:
        raise InputError(f"question {item.query.id!r}: its documents have no labels, so no ideal credibility; use credibility none")
    documents = [
        document.model_copy(update={"credibility": UNTRUSTED if item.labels[document.id] in UNTRUE else TRUSTED})
        if document.id in item.labels
        else document
        for document in item.query.documents
    ]
    return replace(item, query=item.query.model_copy(update={"documents": tuple(documents)}))


def open_run_system(config: RunConfig) -> System:
    """The system of a run with its chat model. Raises UnknownSystemError, InputError."""
    from arbgraph.chat.load import open_chat

    known = systems().get(config.system)
    options = dict(config.system_options)
    asks = known is not None and bool(ASKS & set(known.needs))
    name = (AUTO_CHAT if asks else "none") if config.chat == "auto" else config.chat
    if asks and name == "none":
        raise InputError(f"system {config.system} asks a chat model; give --chat")
    chat = open_chat(name, cache=config.cache, **config.chat_options)
    if chat is not None:
        options["chat"] = chat
    if known is not None:
        _refuse_unknown_options(config.system, known.load(), options)
    try:
        return open_system(config.system, **options)
    except (TypeError, ValueError) as error:
        raise InputError(f"system {config.system}: {error}") from error


def _refuse_unknown_options(name: str, system: type[System], options: Mapping[str, Any]) -> None:
    """Options that no constructor of the class or its bases names."""
    taken: set[str] = set()
    for one in inspect.getmro(system):
        if "__init__" in vars(one) and one is not object:
            taken |= set(inspect.signature(one.__init__).parameters)
    for option in options:
        if option not in taken:
            known = ", ".join(sorted(taken - {"self", "args", "kwargs", "options", "chat"})) or "none"
            raise InputError(f"system {name} has no option {option!r}; it has {known}")


def seed_everything(seed: int) -> None:
    """Seeds the generators of random, numpy and torch."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@dataclass(frozen=True)
class Outcome:
    """A finished run: its folder, scores, number of failures by reason, seconds, and whether too many failed."""

    folder: Path
    metrics: dict[str, Any]
    seconds: float | None
    too_many_failed: bool


def run(
    config: RunConfig,
    out: str | Path,
    *,
    overwrite: bool = False,
    retry_failed: bool = False,
    system: System | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome | None:
    """Answers what is not answered yet, and scores. None on processes other than the first.

    Args:
        config: what is run.
        out: the run folder.
        overwrite: start anew in the folder of another run.
        retry_failed: ask again what failed in an earlier sitting.
        system: one that is already open, in place of the one that the config names.
        progress: told (answered, of how many) by this process.

    Raises InputError, UnknownBenchmarkError, UnknownSystemError, and what the system raises; what was answered before stays on disk.
    """
    processes = find_processes()
    benchmark = config.open_benchmark()
    config = replace(config, split=config.split or benchmark.splits[-1])
    items = config.items(benchmark)
    score([], config.metrics or benchmark.metrics)  # an unknown metric is an error before the first question, not after the last
    seed_everything(config.seed)
    system = system or open_run_system(config)
    folder = RunFolder(out, None if processes.count == 1 else processes.rank)
    if processes.first:
        about = _plain(system.describe())
        surroundings = environment(about, benchmark.paths(config.root), Path(config.root), processes.count, config.seed)
        folder.claim(asdict(config), surroundings, overwrite=overwrite)
        if retry_failed:
            kept = {name: row for name, row in folder.predictions(items).items() if row["failed"] is None}
            folder.merge(items, kept)
    processes.wait()
    done = folder.predictions(items)
    processes.wait()  # nobody writes before everybody has read
    _answer(system, items, done, folder, config.batch_size, processes, progress)
    processes.wait()
    if not processes.first:
        return None
    rows = folder.predictions(items)
    folder.merge(items, rows)
    return _finish(folder, config, benchmark, items, rows)


def _plain(value: Any) -> Any:
    """As it comes back from JSON: tuples are lists, keys are texts."""
    return json.loads(json.dumps(value, default=str))


def _answer(
    system: System,
    items: Sequence[Item],
    done: Mapping[str, Any],
    folder: RunFolder,
    batch_size: int,
    processes: Processes,
    progress: Callable[[int, int], None] | None,
) -> None:
    """The batches of this process. A question is in the same batch in every sitting and with any number of processes."""
    batches = [items[start : start + batch_size] for start in range(0, len(items), batch_size)]
    mine = batches[processes.rank :: processes.count]
    count, answered = sum(map(len, mine)), 0
    for batch in mine:
        missing = [item for item in batch if item.query.id not in done]
        if missing:
            start = time.perf_counter()
            outcomes = system.answer([item.query for item in missing])
            seconds = (time.perf_counter() - start) / len(missing)
            if len(outcomes) != len(missing):
                raise RuntimeError(f"system {system.name} gave {len(outcomes)} outcomes for {len(missing)} questions")
            rows = [_row(item, outcome, system) for item, outcome in zip(missing, outcomes, strict=True)]
            folder.append(rows, [{"id": row["id"], "seconds": round(seconds, 4)} for row in rows])
        answered += len(batch)
        if progress is not None:
            progress(answered, count)


def _row(item: Item, outcome: Answer | Failed, system: System) -> dict[str, Any]:
    """A stored prediction. `tokens` are those of the answer's text, counted by the system or its chat model; null where neither can."""
    row: dict[str, Any] = {"id": item.query.id, "digest": item.digest, "answer": None, "failed": None, "tokens": None}
    if isinstance(outcome, Failed):
        return {**row, "failed": outcome.model_dump(mode="json")}
    count = getattr(system, "count_tokens", None) or getattr(getattr(system, "chat", None), "count_tokens", None)
    return {**row, "answer": outcome.model_dump(mode="json"), "tokens": None if count is None else count(outcome.text)}


def rescore(out: str | Path, *, metrics: list[str] | None = None, root: str | None = None) -> Outcome:
    """Scores a stored run again, with other metrics if given. No system and no model is opened. Raises InputError."""
    folder = RunFolder(out)
    config = config_of(folder.read_config(), out)
    config = replace(config, metrics=metrics or config.metrics, root=root or config.root)
    benchmark = config.open_benchmark()
    items = config.items(benchmark)
    rows = folder.predictions(items)
    missing = [item.query.id for item in items if item.query.id not in rows]
    if missing:
        raise InputError(
            f"{folder.path}: {len(missing)} of {len(items)} questions have no prediction yet ({missing[0]!r}); finish the run first"
        )
    return _finish(folder, config, benchmark, items, rows, stored=True)


def config_of(values: Mapping[str, Any], where: str | Path) -> RunConfig:
    """A configuration from plain values. Raises InputError on an unknown key."""
    known = RunConfig.__dataclass_fields__
    for key in values:
        if key not in known:
            raise InputError(f"{where}: config.yaml has the unknown key {key!r}; known are {', '.join(known)}")
    return RunConfig(**{**values, "columns": Columns(**(values.get("columns") or {}))})


def _finish(
    folder: RunFolder,
    config: RunConfig,
    benchmark: Benchmark,
    items: Sequence[Item],
    rows: Mapping[str, Mapping[str, Any]],
    *,
    stored: bool = False,
) -> Outcome:
    """Scores and writes. With `stored`, claims are judged by what the folder holds, and by no model."""
    names = list(config.metrics or (*benchmark.metrics, *COSTS))
    judged: dict[str, Checked] = {}
    if config.checker != "none" and needs_judging(names):
        judged = judge(items, rows, folder.path, None if stored else open_checker(config.checker))
    every = all_scored(items, rows, judged)
    failures = {name: Failed.model_validate(row["failed"]) for name, row in rows.items() if row["failed"] is not None}
    found = score_with_failures(every, failures, names)
    metrics = {
        "system": config.system,
        "benchmark": benchmark.name,
        "split": config.split,
        "main_metric": names[0],
        **found.to_dict(),
        "failed": failures_of(list(failures.values()), len(items)),
        "repeated_questions": len(items) - len({item.query.query for item in items}),
        "gold_equals_wrong": sum(collides(item.gold, item.wrong) for item in items),
        "questions": [item.query.id for item in items],
        "values": {name: [values.get(item.query.id) for item in items] for name, values in found.values.items()},
    }
    folder.write_json("metrics.json", metrics)
    timings = folder.timings()
    seconds = sum(timings.values()) / len(timings) if timings else None
    return Outcome(folder.path, metrics, seconds, len(failures) > config.max_failed * len(items))
