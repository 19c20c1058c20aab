"""`arbgraph export`: writes a checkpoint for use elsewhere."""

from __future__ import annotations

from typing import Any, Literal

from arbgraph.commands.common import console, escape


def options(parser: Any) -> None:
    parser.add_argument(
        "checkpoint", type=str, help="checkpoint folder, name of a shipped one, or folder of a Hugging Face pair classifier"
    )
    parser.add_argument("out", type=str, help="new folder to write; an earlier export there is replaced")
    parser.add_argument(
        "--format", type=Literal["merged", "onnx"], default="merged", help="of a verifier; a propagation is always JSON and ONNX"
    )
    parser.add_argument("--int8", action="store_true", help="quantise the ONNX program where that keeps its decisions")
    parser.add_argument("--dev", type=str, nargs="*", default=[], help="labelled pairs (.jsonl, .jsonl.gz, .parquet) that int8 is held to")


def run(checkpoint: str, out: str, format: Literal["merged", "onnx"], int8: bool, dev: list[str]) -> int:
    """Exports a checkpoint for use elsewhere; refuses when outputs differ from the checkpoint's own."""
    from arbgraph.export import export_checkpoint

    report = export_checkpoint(checkpoint, out, format=format, int8=int8, dev=dev)
    out_console = console()
    for name, value in report["parity"]["largest_difference"].items():
        out_console.print(f"{name}: largest difference {value:.2g}")
    if "int8" in report:
        chosen = report["int8"]["tried"][report["int8"]["recipe"]]
        out_console.print(
            f"int8 ({report['int8']['recipe']}): accuracy {chosen['accuracy']:.3f}, float32 {report['int8']['accuracy_fp32']:.3f}, "
            f"{chosen['decisions_kept']:.1%} of decisions kept on {report['int8']['pairs']} pairs"
        )
    out_console.print(f"wrote {escape(out)}: {sum(report['bytes'].values()) / 2**20:.1f} MiB", soft_wrap=True)
    return 0
