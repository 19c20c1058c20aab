"""The table of systems: what each is, where it comes from, what it needs, and where ours departs from it."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any, Literal

from arbgraph.systems.base import System

Need = Literal["chat", "option scores", "white box", "verifier", "encoder", "reader", "credibility"]


class UnknownSystemError(LookupError):
    """A system name that the table does not hold; the message lists those it does."""


@dataclass(frozen=True)
class SystemInfo:
    """One row. `target` is `module:Class`; `needs` says what must be given or installed; `deviations` is one sentence or empty."""

    name: str
    title: str
    paper: str
    year: int
    target: str
    needs: tuple[Need, ...] = ("chat",)
    deviations: str = ""

    def load(self) -> type[System]:
        """The class; its module is imported here and not before."""
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)

    def options(self) -> tuple[str, ...]:
        """What the class may be given by name, those options included that it hands on to the classes it extends."""
        names: dict[str, None] = {}
        for part in self.load().__mro__:
            if "__init__" not in vars(part):
                continue
            parameters = list(inspect.signature(part.__init__).parameters.values())[1:]
            names.update((parameter.name, None) for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD)
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                break
        return tuple(names)


def systems() -> dict[str, SystemInfo]:
    """Every system by name, in the order of the table."""
    from arbgraph.systems.table import ROWS

    return {row.name: row for row in ROWS}


def open_system(name: str, **options: Any) -> System:
    """A system by name with its options. Raises UnknownSystemError."""
    known = systems()
    if name not in known:
        raise UnknownSystemError(f"system {name!r} is not known; choose one of {', '.join(known)}")
    return known[name].load()(**options)
