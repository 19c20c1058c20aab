"""Checkpoints as what other programs run: a plain Hugging Face folder, an ONNX program, parameters as JSON; parity is measured.

Nothing is written under the requested name before its outputs were compared with the checkpoint's own.
"""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from arbgraph.checkpoint import CARD, CheckpointError, file_sha256, find_checkpoint, is_checkpoint, load_checkpoint
from arbgraph.checkpoint import describe as describe_checkpoint

if TYPE_CHECKING:
    from torch import Tensor, nn

    from arbgraph.verifier.relation import RelationVerifier

Format = Literal["merged", "onnx"]
LOGIT_LIMIT = 1e-4  # largest difference of a logit or probability at full precision
ONNX_BYTES = 2**31 - 1  # what one protocol buffer holds
PACKAGES = ("arbgraph", "torch", "transformers", "tokenizers", "peft", "onnx", "onnxscript", "onnxruntime")


class ExportError(CheckpointError):
    """An export that was refused; the message gives the numbers and what to do."""


def export_checkpoint(
    checkpoint: str | Path,
    out: str | Path,
    *,
    format: Format = "merged",
    int8: bool = False,
    dev: Sequence[str | Path] = (),
    offline: bool = True,
) -> dict[str, Any]:
    """Exports a checkpoint into a new folder and returns the report that `export.json` holds.

    Args:
        checkpoint: folder, name of a shipped checkpoint, or folder of a ready Hugging Face pair classifier.
        out: where to; must be new, empty or an earlier export, which is replaced.
        format: of a verifier: `merged` (Hugging Face folder) or `onnx`. A propagation has one form, JSON and ONNX, and a causal
            arbitrator one, merged.
        int8: quantises the ONNX program; needs `dev`.
        dev: files of labelled pairs on which the quantised program may lose half a point of accuracy.
        offline: never touch the network.

    Raises ExportError when outputs differ by more than the limits, CheckpointError on an unusable checkpoint or folder.
    """
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder, out = find_checkpoint(checkpoint), Path(out)
    if int8 and format != "onnx":
        raise ExportError("int8 is a precision of the ONNX program; add --format onnx")
    if int8 and not dev:
        raise ExportError("int8 needs labelled pairs to measure what quantisation costs; add --dev FILE")
    if dev and not int8:
        raise ExportError("--dev serves --int8 alone; add --int8 or leave it out")
    kind = describe_checkpoint(folder)["kind"] if is_checkpoint(folder) else None
    if kind == "CredibilityPropagation":
        if int8:
            raise ExportError(f"{folder}: a propagation has nothing to quantise; leave out --int8")
        from arbgraph.propagation.export import export_propagation
        from arbgraph.propagation.fitted import load_propagation

        return export_propagation(load_propagation(folder), out, source=folder.name)
    if kind == "CausalArbitrator":
        if format != "merged":
            raise ExportError(f"{folder}: an arbitrator is exported as a merged Hugging Face folder; leave out --format")
        from arbgraph.arbitrator.export import export_arbitrator

        return export_arbitrator(folder, out, offline=offline)
    return _export_verifier(folder, out, format=format, dev=dev if int8 else (), offline=offline)


def _export_verifier(folder: Path, out: Path, *, format: Format, dev: Sequence[str | Path], offline: bool) -> dict[str, Any]:
    from arbgraph.verifier.exported import CARD_TEXTS, EXPORT, REPORT
    from arbgraph.verifier.relation import merge

    reference, network, settings = load_reference(folder, offline=offline)
    expected = probe(reference)
    pairs = _read_dev(dev)
    gold = reference.relate([(pair.a, pair.b) for pair in pairs]) if pairs else None
    merge(reference)
    with new_folder(out, EXPORT) as partial:
        config = _describe(reference, network, settings, format)
        report: dict[str, Any] = {"format": format, "precision": "int8" if dev else "fp32", "source": config["source"]}
        (_write_merged if format == "merged" else _write_programs)(reference, partial)
        report["parity"] = check_parity(partial, config, expected)
        if gold is not None:
            from arbgraph.verifier.quantise import quantise

            config["precision"] = "int8"
            report["int8"] = {"dev": [Path(path).name for path in dev]} | quantise(partial, config, pairs, gold)
        _write_text(partial / CARD, CARD_TEXTS[format].format(name=out.name, source=folder.name))
        seal(partial, config)
        report["bytes"] = {path.name: path.stat().st_size for path in sorted(partial.iterdir())}
        report["versions"] = versions()
        write_json(partial / REPORT, report)
    return report


def load_reference(folder: Path, *, offline: bool = True) -> tuple[RelationVerifier, str, dict[str, Any]]:
    """The verifier as it was trained: adapter unmerged, float32, plain linear layers, on the CPU; its network and settings."""
    from arbgraph.verifier import relation

    if is_checkpoint(folder):
        checkpoint = load_checkpoint(folder, kind=relation.KIND)
        return relation.load_unmerged(checkpoint, offline=offline), "segment", checkpoint.config.settings
    if relation.is_classifier(folder):
        verifier = relation.load_classifier(folder, folder.name)
        verifier.model.float().eval()
        return verifier, "classifier", {}
    raise CheckpointError(f"{folder}: neither an ArbGraph checkpoint nor a Hugging Face sequence classifier; nothing to export")


def probe_pairs() -> list[tuple[str, str]]:
    """The pairs on which parity is measured, all kinds of conflict among them, in both reading orders."""
    lines = files("arbgraph").joinpath("data", "probe_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [(row["claim_a"], row["claim_b"]) for row in map(json.loads, lines)]
    return [*pairs, *((b, a) for a, b in pairs)]


def probe(verifier: RelationVerifier) -> dict[str, Tensor]:
    """What a verifier says about the probe pairs: `logits`, `directed` of both orders and `relation`, `[.., 3]` each."""
    pairs = probe_pairs()
    logits = verifier.logits(pairs)
    scores = verifier.calibration.directed.log_probabilities(logits)
    half = len(pairs) // 2
    return {"logits": logits, "directed": scores.exp().float(), "relation": verifier.combine(scores[:half], scores[half:]).exp().float()}


def check_parity(folder: Path, config: dict[str, Any], expected: dict[str, Tensor]) -> dict[str, Any]:
    """Loads an export again and compares it with the checkpoint. Raises ExportError beyond LOGIT_LIMIT."""
    from arbgraph.verifier import RelationVerifier

    seal(folder, config)
    verifier = RelationVerifier.load(folder, device="cpu")
    found = probe(verifier)
    if config["format"] == "onnx":
        found |= _probe_programs(verifier, folder)
    difference = {name: float((found[name] - expected[name]).abs().max()) for name in expected}
    worst = max(difference.values())
    if not worst <= LOGIT_LIMIT:
        raise ExportError(
            f"the exported model differs from its checkpoint by {worst:.2g} on the probe pairs (limit {LOGIT_LIMIT:g}); "
            "nothing was written; report the base and the versions, or use the other format"
        )
    return {"probe_pairs": len(expected["relation"]), "limit": LOGIT_LIMIT, "largest_difference": difference}


def _probe_programs(verifier: RelationVerifier, folder: Path) -> dict[str, Tensor]:
    """`directed` and `relation` of the probe pairs as the ONNX programs give them, without a line of ours in between."""
    import torch

    from arbgraph.comparison import comparison_features
    from arbgraph.verifier.exported import COMBINE, PROGRAM, open_session

    pairs = probe_pairs()
    batch = verifier.tokenizer.batch(verifier.tokenizer.encode(pairs), range(len(pairs)))
    if verifier.features:
        batch["features"] = comparison_features(pairs)
    session = open_session(folder / PROGRAM)
    feed = {node.name: batch[node.name].numpy() for node in session.get_inputs()}
    probabilities, logits = session.run(["probabilities", "logits"], feed)
    half = len(pairs) // 2
    (relation,) = open_session(folder / COMBINE).run(None, {"forward": logits[:half], "backward": logits[half:]})
    return {"directed": torch.from_numpy(probabilities), "relation": torch.from_numpy(relation)}


def _read_dev(dev: Sequence[str | Path]) -> list[Any]:
    from arbgraph.verifier.pairs import PairFileError, read_pairs

    try:
        return [pair for path in dev for pair in read_pairs(path)]
    except PairFileError as error:
        raise ExportError(str(error)) from error


def _describe(verifier: RelationVerifier, network: str, settings: dict[str, Any], format: Format) -> dict[str, Any]:
    from arbgraph.schema import RELATION_LABELS

    # The ONNX program puts the logits into the project's order itself.
    order = list(RELATION_LABELS)
    if format == "merged":
        order = [RELATION_LABELS[verifier.columns.index(position)] for position in range(3)]
    about = verifier.description
    return {
        "arbgraph_export": 1,
        "format": format,
        "kind": "RelationVerifier",
        "network": network,
        "precision": "fp32",
        "label_order": order,
        "max_tokens": verifier.tokenizer.max_tokens,
        "features": about.get("features", []),
        "settings": {"anchor": settings["anchor"]} if "anchor" in settings else {},
        "calibration": verifier.calibration.to_dict(),
        "source": {name: about.get(name) for name in ("name", "base", "base_sha256", "sha256")},
        "files": {},
    }


def _write_merged(verifier: RelationVerifier, folder: Path) -> None:
    from safetensors.torch import save_file

    from arbgraph.verifier.exported import HEAD
    from arbgraph.verifier.model import ClassifierModel, RelationModel

    model = verifier.model
    if isinstance(model, ClassifierModel):
        body = model.classifier
    else:
        assert isinstance(model, RelationModel)
        body = model.encoder
        save_file({name: tensor.contiguous() for name, tensor in model.head.state_dict().items()}, folder / HEAD)
    body.save_pretrained(folder, max_shard_size="1TB")  # pyright: ignore[reportCallIssue]
    _plain(verifier.tokenizer.tokenizer).save_pretrained(folder)


def _plain(tokenizer: Any) -> Any:
    """The tokenizer without the truncation and padding that its last call left in it."""
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer


def _write_programs(verifier: RelationVerifier, folder: Path) -> None:
    import torch

    from arbgraph.verifier.exported import COMBINE, PROGRAM
    from arbgraph.verifier.model import ClassifierModel
    from arbgraph.verifier.program import CombineProgram, PairProgram

    size = sum(tensor.numel() * tensor.element_size() for tensor in verifier.model.state_dict().values())
    if size > ONNX_BYTES:
        raise ExportError(f"{size / 2**30:.1f} GiB of weights do not fit into one ONNX file (2 GiB); use --format merged")
    pairs = [("one two three four", "five six"), ("seven", "eight nine"), ("ten", "ten")]
    batch = verifier.tokenizer.batch(verifier.tokenizer.encode(pairs), range(len(pairs)))
    if isinstance(verifier.model, ClassifierModel):
        del batch["segments"]
    if verifier.features:
        batch["features"] = torch.zeros(len(pairs), len(verifier.description["features"]))
    rows, tokens = torch.export.Dim("rows"), torch.export.Dim("tokens")
    shapes = {name: {0: rows} if name == "features" else {0: rows, 1: tokens} for name in batch}
    program = PairProgram(verifier.model, verifier.columns, verifier.calibration)
    write_onnx(program, batch, shapes, ["probabilities", "logits"], folder / PROGRAM)
    logits = {"forward": torch.randn(3, 3), "backward": torch.randn(3, 3)}
    combine = CombineProgram(verifier.calibration)
    write_onnx(combine, logits, {"forward": {0: rows}, "backward": {0: rows}}, ["probabilities"], folder / COMBINE)
    tokenizer = verifier.tokenizer.tokenizer
    _plain(tokenizer).backend_tokenizer.save(str(folder / "tokenizer.json"))
    about = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": str(tokenizer.pad_token),
        "padding_side": tokenizer.padding_side,
        "model_input_names": list(verifier.tokenizer.inputs),
        "model_max_length": verifier.tokenizer.max_tokens,
    }
    write_json(folder / "tokenizer_config.json", about)


def write_onnx(program: nn.Module, inputs: dict[str, Tensor], shapes: dict[str, Any], outputs: list[str], path: Path) -> None:
    """Exports a module, called with these named inputs, as one self-contained ONNX file. Raises ExportError without the packages."""
    import torch

    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ExportError(f"{path.name}: writing ONNX needs onnx and onnxscript; pip install 'arbgraph[onnx]'") from error
    with warnings.catch_warnings(), quiet("torch.onnx", "torch.export", "onnxscript", "onnx_ir"):
        warnings.simplefilter("ignore")  # about axis names and the exporter's own use of torch
        written = torch.onnx.export(
            program.eval(),
            kwargs=inputs,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes=shapes,
            dynamo=True,
            verbose=False,
        )
    assert written is not None
    written.save(str(path))


@contextmanager
def quiet(*loggers: str) -> Iterator[None]:
    """Silences informative messages of other packages while an export runs; errors still show."""
    before = {name: logging.getLogger(name).level for name in loggers}
    for name in loggers:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def new_folder(out: Path, mark: str) -> Iterator[Path]:
    """A folder to fill beside `out`, renamed to it when all went well. An earlier export, known by its file `mark`, is replaced.

    Raises ExportError when `out` holds anything else.
    """
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / mark).is_file())):
        raise ExportError(f"{out}: holds files that are no export and would be lost; give a new folder")
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial)
        raise
    for path in partial.iterdir():
        path.chmod(0o644)  # safetensors writes files that only their owner may read
    if out.exists():
        shutil.rmtree(out)
    partial.rename(out)


def seal(folder: Path, config: dict[str, Any]) -> None:
    """Writes `arbgraph.json` with the hashes of all files that loading reads."""
    from arbgraph.verifier.exported import EXPORT, ExportConfig

    names = sorted(path.name for path in folder.iterdir() if path.name not in (EXPORT, CARD))
    config["files"] = {name: file_sha256(folder / name) for name in names}
    write_json(folder / EXPORT, ExportConfig.model_validate(config).model_dump(mode="json"))


def versions() -> dict[str, str]:
    """Versions of the packages that an export depends on, where installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def write_json(path: Path, value: Any) -> None:
    """Writes indented JSON, one trailing newline."""
    _write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
