"""The command line: `arbgraph arbitrate | answer | systems | show | verify | export`.

Exit codes: 0 success, 1 an unexpected failure, 2 wrong usage or data (bad records of a batch included).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from arbgraph.commands.common import fail
from arbgraph.io import InputError
from arbgraph.settings import SettingsError

# command -> the line that the overview shows; the module of that name in `arbgraph.commands` does the work.
COMMANDS = {
    "arbitrate": "settle the conflicts in the documents of each query, and answer from what survives",
    "answer": "answer each query with citations, by ArbGraph or any rival system",
    "systems": "list the systems that can answer",
    "show": "render arbitrations that were written as JSON",
    "verify": "label claim pairs as support, contradict or neutral",
    "export": "write a checkpoint as a Hugging Face folder or ONNX program, parity measured",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit code. Errors in usage and data go to standard error, one line each."""
    from jsonargparse import ArgumentParser

    # The commands report their progress themselves.
    os.environ.setdefault("TQDM_DISABLE", "1")
    parser = ArgumentParser(prog="arbgraph", description="Conflict-aware evidence arbitration for retrieval-augmented generation.")
    commands = parser.add_subcommands(dest="command")
    modules = {name: importlib.import_module(f"arbgraph.commands.{name}") for name in COMMANDS}
    for name, description in COMMANDS.items():
        sub = ArgumentParser(description=description)
        modules[name].options(sub)
        commands.add_subcommand(name, sub, help=description)
    values = parser.parse_args(list(sys.argv[1:] if arguments is None else arguments))
    try:
        return modules[values.command].run(**values[values.command].as_dict())
    except BrokenPipeError:  # the reader of a pipe has gone, as in `arbgraph show x | head`
        sys.stderr.close()
        return 0
    except (ValueError, LookupError, RuntimeError) as error:
        if isinstance(error, _user_errors()):
            return fail(error)
        raise


def _user_errors() -> tuple[type[Exception], ...]:
    """Errors that a user causes and can mend; their messages are written for the user."""
    from arbgraph.chat.base import ChatError
    from arbgraph.checkpoint import CheckpointError
    from arbgraph.models import ModelNotFoundError
    from arbgraph.systems.registry import UnknownSystemError

    return InputError, SettingsError, ModelNotFoundError, CheckpointError, ChatError, UnknownSystemError


if __name__ == "__main__":
    raise SystemExit(main())
