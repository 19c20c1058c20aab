"""Pairs a second and memory of the relation verifier, against sentence-transformers' `CrossEncoder.predict` in the same run.

    python -m benchmarks.verifier [--checkpoint verifier-minilm] [--data FILE ...] [--pairs 1000 20000] [--dev FILE ...] [--json OUT]

Every row is a process of its own that turns texts into logits, one reading order: tokens, comparison features and network.
`CrossEncoder` runs the very same network: the module that it would call for a Hugging Face classifier is given our merged encoder
and head, and the same features, so both give the same logits; its batching, tokenising and prediction loop are its own, with
its default batch of 32. The `plain` rows are a `BertForSequenceClassification` of the same size (or what the base is) without
features, which `CrossEncoder` loads by itself. On a machine with other work, processor seconds compare better than the clock.

int8 of torch is its deprecated dynamic quantisation; the ONNX rows need onnxruntime, and `onnx int8` needs `--dev` pairs on which
quantisation is checked. Without `--data`, pairs are drawn from the texts of the probe pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.memory import peak_kib

Pairs = list[tuple[str, str]]
Run = Callable[[Pairs], Any]
METHODS = (
    *("fp32", "bf16", "int8", "onnx fp32", "onnx int8", "CrossEncoder fp32", "CrossEncoder bf16"),
    *("plain fp32", "plain bf16", "plain CrossEncoder fp32", "plain CrossEncoder bf16"),
)
WARM_UP = [
    (f"The {n} lamps were lit at dusk.", f"At dusk {n} lamps were lit in the street, and the watchman went home.") for n in range(32)
]


def draw_pairs(data: Sequence[str], count: int, seed: int = 0) -> Pairs:
    """`count` distinct pairs of real text: a sample of the files, or joined texts of the probe pairs."""
    generator = random.Random(seed)
    if data:
        from arbgraph.verifier.pairs import read_pairs

        pairs = list(dict.fromkeys((pair.a, pair.b) for path in data for pair in read_pairs(path)))
        generator.shuffle(pairs)
        if len(pairs) < count:
            raise SystemExit(f"the data files hold {len(pairs)} distinct pairs, fewer than {count}; give more files or fewer pairs")
        return pairs[:count]
    from arbgraph.export import probe_pairs

    texts = sorted({text for pair in probe_pairs() for text in pair})

    def text() -> str:
        return " ".join(generator.sample(texts, generator.choice((1, 1, 1, 2, 3))))

    pairs = {}
    while len(pairs) < count:
        pairs[text(), text()] = None
    return list(pairs)


def exports(checkpoint: str, folder: Path, dev: Sequence[str], methods: Sequence[str]) -> list[str]:
    """Exports what the methods need and the folder lacks; returns the methods that can run."""
    from arbgraph.export import export_checkpoint

    if any("CrossEncoder" in name or "plain" in name for name in methods) and not (folder / "merged").is_dir():
        export_checkpoint(checkpoint, folder / "merged")
    if any("plain" in name for name in methods) and not (folder / "plain").is_dir():
        _write_plain(folder)
    if "onnx fp32" in methods and not (folder / "onnx").is_dir():
        export_checkpoint(checkpoint, folder / "onnx", format="onnx")
    if "onnx int8" in methods and not (folder / "onnx-int8").is_dir():
        if not dev:
            return [name for name in methods if name != "onnx int8"]
        export_checkpoint(checkpoint, folder / "onnx-int8", format="onnx", int8=True, dev=dev)
    return list(methods)


def _write_plain(folder: Path) -> None:
    """A sequence classifier with the merged encoder and an untrained head, as a Hugging Face folder."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    names = dict(enumerate(("support", "contradict", "neutral")))
    model = AutoModelForSequenceClassification.from_pretrained(folder / "merged", num_labels=3, id2label=names)
    model.save_pretrained(folder / "plain")
    length = json.loads((folder / "merged" / "arbgraph.json").read_text(encoding="utf-8"))["max_tokens"]
    AutoTokenizer.from_pretrained(folder / "merged", model_max_length=length).save_pretrained(folder / "plain")


def ours(method: str, checkpoint: str, folder: Path) -> Run:
    """`RelationVerifier.logits` in the precision that the method names."""
    from arbgraph.verifier import RelationVerifier

    kind, _, precision = method.rpartition(" ")
    path = {"": checkpoint, "plain": str(folder / "plain"), "onnx": str(folder / ("onnx" if precision == "fp32" else "onnx-int8"))}[kind]
    if kind == "onnx":
        return RelationVerifier.load(path, device="cpu").logits
    if precision != "int8":
        return RelationVerifier.load(path, device="cpu", precision="bf16" if precision == "bf16" else "fp32").logits
    import warnings

    import torch

    from arbgraph.checkpoint import find_checkpoint
    from arbgraph.export import load_reference
    from arbgraph.verifier.relation import merge

    verifier, *_ = load_reference(find_checkpoint(path))
    merge(verifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verifier.model = torch.ao.quantization.quantize_dynamic(verifier.model, {torch.nn.Linear}, dtype=torch.qint8)
    return verifier.logits


def theirs(method: str, folder: Path) -> Run:
    """`CrossEncoder.predict` on the plain classifier, or on our network put in its place."""
    import torch
    from sentence_transformers import CrossEncoder

    precision = torch.bfloat16 if method.endswith("bf16") else torch.float32
    encoder = CrossEncoder(str(folder / "plain"), device="cpu", local_files_only=True, model_kwargs={"dtype": precision})
    if not method.startswith("plain"):
        _put_in(encoder, folder / "merged", precision)
    return lambda pairs: encoder.predict(pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True)


def _put_in(encoder: Any, merged: Path, precision: Any) -> None:
    import torch

    from arbgraph.comparison import comparison_features
    from arbgraph.verifier.exported import load_merged, read_export

    config = read_export(merged)
    network, tokenizer = load_merged(merged, config)
    network.eval()
    network.encoder.to(precision)  # pyright: ignore
    module = encoder[0]
    special = torch.tensor(sorted(set(tokenizer.all_special_ids)))

    def preprocess(inputs: Pairs, prompt: str | None = None, **_: Any) -> dict[str, Any]:
        first, second = [a for a, _ in inputs], [b for _, b in inputs]
        batch = tokenizer(first, second, padding=True, truncation="longest_first", max_length=config.max_tokens, return_tensors="pt")
        segments = batch["token_type_ids"].masked_fill(torch.isin(batch["input_ids"], special), -1)
        found = {**batch, "segments": segments}
        return found | ({"features": comparison_features(inputs)} if config.features else {})

    def forward(features: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {"scores": network(features)}

    module.preprocess, module.forward = preprocess, forward
    network.config = module.model.config
    module.model = network  # so that the classifier that stood there is freed


def measure(method: str, pairs: Pairs, checkpoint: str, folder: Path, logits: Path) -> dict[str, float]:
    """Wall and processor seconds, and peak memory (MiB) of the process, after a warm-up. Writes the logits to a file."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    run = theirs(method, folder) if "CrossEncoder" in method else ours(method, checkpoint, folder)
    run(WARM_UP)
    before = peak_kib()
    started, worked = time.perf_counter(), time.process_time()
    found = run(pairs)
    seconds, processor = time.perf_counter() - started, time.process_time() - worked
    peak = peak_kib()
    logits.write_text(json.dumps(found.float().tolist()), encoding="utf-8")
    return {"seconds": seconds, "processor": processor, "peak_mib": peak / 1024, "peak_above_start_mib": (peak - before) / 1024}


def measure_apart(method: str, texts: Path, checkpoint: str, folder: Path, threads: int, scratch: Path) -> tuple[dict[str, float], list]:
    """`measure` in a process of its own; with the logits."""
    logits = scratch / "logits.json"
    command = [sys.executable, "-m", "benchmarks.verifier", "--one", method, str(texts), checkpoint, str(folder), str(logits)]
    environment = os.environ | {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    environment |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1]), json.loads(logits.read_text(encoding="utf-8"))


def decisions(logits: list[list[float]]) -> list[int]:
    """The largest logit of every row."""
    return [row.index(max(row)) for row in logits]


def compare(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Ours against CrossEncoder's, in pairs a processor second: in float32, in bf16, and the fastest that keeps 99.5% of decisions."""
    rate = {row["method"]: row["pairs"] / row["processor"] for row in rows}
    kept = {row["method"]: row["decisions_kept"] for row in rows}
    found: dict[str, Any] = {}
    for prefix in ("", "plain "):
        for precision in ("fp32", "bf16"):
            both = (f"{prefix}{precision}", f"{prefix}CrossEncoder {precision}")
            if all(name in rate for name in both):
                found[f"{prefix}same precision, {precision}"] = rate[both[0]] / rate[both[1]]
    able = [name for name in rate if "plain" not in name and "CrossEncoder" not in name and kept[name] >= 0.995]
    if able and "CrossEncoder fp32" in rate:
        best = max(able, key=lambda name: rate[name])
        found["best that keeps 99.5% of decisions"] = {"method": best, "ratio": rate[best] / rate["CrossEncoder fp32"]}
    return found


def run_size(count: int, arguments: argparse.Namespace, folder: Path, methods: Sequence[str], scratch: Path) -> dict[str, Any]:
    """All methods on one number of pairs; prints a line for each."""
    texts = scratch / "pairs.json"
    texts.write_text(json.dumps(draw_pairs(arguments.data, count)), encoding="utf-8")
    rows: list[dict[str, Any]] = []
    reference: dict[bool, list[int]] = {}
    for method in methods:
        numbers, logits = measure_apart(method, texts, arguments.checkpoint, folder, arguments.threads, scratch)
        found = decisions(logits)
        expected = reference.setdefault(method.startswith("plain"), found)
        kept = sum(a == b for a, b in zip(found, expected, strict=True)) / count
        rows.append({"method": method, "pairs": count, **numbers, "decisions_kept": kept})
        line = f"{count:>7} {method:<24} {numbers['seconds']:>9.2f} {numbers['processor']:>9.2f} {count / numbers['processor']:>9.1f}"
        sys.stdout.write(f"{line} {numbers['peak_mib']:>9.0f} {numbers['peak_above_start_mib']:>9.0f} {kept:>7.2%}\n")
        sys.stdout.flush()
    ratios = compare(rows)
    sys.stdout.write("".join(f"        {name}: {value}\n" for name, value in ratios.items()))
    return {"pairs": count, "rows": rows, "ratios": ratios}


def main() -> None:
    """Prints one line per size and method, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="verifier-minilm", help="folder or name of a shipped verifier")
    parser.add_argument("--data", nargs="*", default=[], help="files of labelled pairs to draw from")
    parser.add_argument("--dev", nargs="*", default=[], help="files of labelled pairs that int8 is held to")
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 20_000])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--exports", type=Path, default=None, help="folder in which exports are kept for the next run")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--one", nargs=5, metavar=("METHOD", "PAIRS", "CHECKPOINT", "FOLDER", "LOGITS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        method, texts, checkpoint, folder, logits = arguments.one
        pairs = [(a, b) for a, b in json.loads(Path(texts).read_text(encoding="utf-8"))]
        sys.stdout.write(json.dumps(measure(method, pairs, checkpoint, Path(folder), Path(logits))) + "\n")
        return
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        folder = arguments.exports or scratch / "exports"
        folder.mkdir(parents=True, exist_ok=True)
        methods = exports(arguments.checkpoint, folder, arguments.dev, arguments.methods)
        titles = f"{'pairs':>7} {'method':<24} {'seconds':>9} {'cpu s':>9} {'pairs/cpu':>9} {'peak MiB':>9} {'+ MiB':>9} {'kept':>7}"
        sys.stdout.write(f"{arguments.threads} threads\n{titles}\n")
        results = [run_size(count, arguments, folder, methods, scratch) for count in arguments.pairs]
    if arguments.json:
        from arbgraph.export import versions

        report = {"checkpoint": arguments.checkpoint, "threads": arguments.threads, "versions": versions(), "sizes": results}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
