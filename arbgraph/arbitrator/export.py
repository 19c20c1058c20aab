"""A causal arbitrator as a plain Hugging Face folder: adapter merged in float32, scores compared, verdict calibration beside it.

transformers, vLLM and the converter of llama.cpp read the folder as the model it is; `load_arbitrator` reads it as the arbitrator.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from arbgraph.arbitrator.calibration import VerdictCalibration
from arbgraph.arbitrator.cases import ArbitrationCase, Statement
from arbgraph.arbitrator.causal_lm import KIND, OPTIONS, CausalArbitrator
from arbgraph.chat.prompts import DECISION
from arbgraph.chat.transformers_chat import TransformersChat
from arbgraph.checkpoint import CARD, Checkpoint, CheckpointError, file_sha256, load_checkpoint
from arbgraph.export import ExportError, new_folder, versions, write_json

SETTINGS, REPORT = "arbitrator.json", "export.json"
LIMIT = 1e-4  # largest difference of an option's log-probability
TEXT = """# {name}

The arbitrator `{source}` with its adapter merged into `{base}`, in float32: a causal language model in the Hugging Face layout. It
scores the options {options} behind the prompt `{prompt}`, both orders of the claims averaged; `arbitrator.json` holds the calibration of
that average. `export.json` says how far its scores are from those of the adapter.

    arbgraph arbitrate INPUT --arbitrator {name}
    vllm serve {name}
"""


class ArbitratorExport(BaseModel):
    """What `arbitrator.json` holds."""

    model_config = ConfigDict(extra="forbid")

    arbgraph_export: int = 1
    kind: str = KIND
    prompt: str
    options: tuple[str, ...]
    context_tokens: int
    calibration: dict[str, float]
    source: dict[str, Any]
    files: dict[str, str]


def export_arbitrator(folder: Path, out: Path, *, offline: bool = True) -> dict[str, Any]:
    """Writes the merged model of a checkpoint into a new folder, and returns the report.

    Raises ExportError when an option's log-probability on the probe cases differs by more than 1e-4 from the unmerged model's.
    """
    checkpoint = load_checkpoint(folder, kind=KIND)
    arbitrator, merged = _unmerged(checkpoint, offline=offline)
    base = checkpoint.config.base
    if base is None:
        raise CheckpointError(f"{folder}: names no base model, so there is nothing to merge into")
    expected = arbitrator.order_scores(probe_cases())
    with new_folder(out, SETTINGS) as partial:
        _save(merged(), partial, arbitrator.chat.tokenizer)  # pyright: ignore[reportAttributeAccessIssue]
        files = {path.name: file_sha256(path) for path in sorted(partial.iterdir())}
        settings = ArbitratorExport(
            prompt=DECISION.name,
            options=OPTIONS,
            context_tokens=arbitrator.context_tokens,
            calibration=arbitrator.calibration.to_dict(),
            source={"name": folder.name, "base": base.name, "base_sha256": base.sha256},
            files=files,
        )
        write_json(partial / SETTINGS, settings.model_dump(mode="json"))
        worst = float((load_export(partial).order_scores(probe_cases()) - expected).abs().max())
        if not worst <= LIMIT:
            raise ExportError(
                f"the merged model's scores differ from the adapter's by {worst:.2g} on the probe cases (limit {LIMIT:g}); "
                "nothing was written"
            )
        about = {
            "name": out.name,
            "source": folder.name,
            "base": checkpoint.config.base,
            "options": ", ".join(OPTIONS),
            "prompt": DECISION.name,
        }
        (partial / CARD).write_text(TEXT.format(**about), encoding="utf-8", newline="\n")
        report = {
            "format": "merged",
            "precision": "fp32",
            "source": settings.source,
            "parity": {"probe_cases": len(probe_cases()), "limit": LIMIT, "largest_difference": {"option log-probability": worst}},
            "bytes": {path.name: path.stat().st_size for path in sorted(partial.iterdir())},
            "versions": versions(),
        }
        write_json(partial / REPORT, report)
    return report


def _unmerged(checkpoint: Checkpoint, *, offline: bool) -> tuple[CausalArbitrator, Any]:
    """The arbitrator in float32 with its adapter beside the weights, and a function that merges it."""
    from peft import PeftModel

    settings, config = checkpoint.config.settings, checkpoint.config
    resolved = checkpoint.resolve_base(offline=offline)
    chat = TransformersChat(resolved.name, device="cpu", precision="fp32", offline=offline)
    base = chat.model
    if "adapter_model.safetensors" in config.files:
        chat.model = PeftModel.from_pretrained(base, str(checkpoint.path), is_trainable=False).eval()
    calibration = VerdictCalibration.from_dict(config.calibration) if config.calibration else None
    arbitrator = CausalArbitrator(chat, context_tokens=int(settings["context_tokens"]), calibration=calibration)

    def merge() -> Any:
        return chat.model.merge_and_unload() if isinstance(chat.model, PeftModel) else chat.model  # pyright: ignore[reportCallIssue]

    return arbitrator, merge


def _save(model: Any, folder: Path, tokenizer: Any) -> None:
    # A model read from a GGUF file says that it is quantised, although its weights no longer are, and would refuse to be saved.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder, max_shard_size="1TB")
    tokenizer.save_pretrained(folder)


def is_export(folder: str | Path) -> bool:
    """Whether a folder holds an exported arbitrator."""
    return (Path(folder) / SETTINGS).is_file()


def load_export(folder: str | Path, *, offline: bool = True, device: str | None = None) -> CausalArbitrator:
    """An exported arbitrator. Raises CheckpointError when the folder is damaged or was made for another prompt."""
    path = Path(folder)
    try:
        settings = ArbitratorExport.model_validate(json.loads((path / SETTINGS).read_text(encoding="utf-8")))
        calibration = VerdictCalibration.from_dict(settings.calibration)
    except (OSError, ValueError, ValidationError, KeyError) as error:
        raise CheckpointError(f"{path / SETTINGS}: cannot be used: {error}; export the arbitrator again") from None
    if settings.prompt != DECISION.name or settings.options != OPTIONS:
        raise CheckpointError(
            f"{path}: was made for the prompt {settings.prompt!r}, but this version asks {DECISION.name!r}; export it again"
        )
    for name, expected in settings.files.items():
        if not (path / name).is_file() or file_sha256(path / name) != expected:
            raise CheckpointError(f"{path / name}: is missing or not the file that was exported; export the arbitrator again")
    chat = TransformersChat(str(path), device=device, offline=offline)
    about = {"name": path.name, **settings.source, "sha256": settings.files}
    return CausalArbitrator(chat, context_tokens=settings.context_tokens, calibration=calibration, description=about)


def probe_cases() -> list[ArbitrationCase]:
    """The contradictions on which parity is measured: with and without evidence, long and short, dated, in another script."""
    old, new = (
        Statement(text="The bridge opened in 1932.", source="archive", date="1990"),
        Statement(text="It opened in 1935.", date="2020-05"),
    )
    many = tuple(Statement(text=f"Report {number} counts {40 + number} members.", source=f"office {number}") for number in range(12))
    pairs = [
        ("When did the bridge open?", "The bridge opened in 1932.", "The bridge opened in 1935.", (old,), (new,)),
        ("How many members are there?", "There are 41 members.", "There are 52 members.", many[:1], many[1:]),
        ("Who leads the club?", "Ada leads the club.", "Ben leads the club.", (), ()),
        ("東京はどこですか", "東京は日本にある。", "東京は中国にある。", (Statement(text="東京は日本の首都である。"),), ()),
    ]
    return [ArbitrationCase(query=q, claim_a=a, claim_b=b, context_a=x, context_b=y) for q, a, b, x, y in pairs]
