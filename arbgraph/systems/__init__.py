"""Everything that answers a query from documents: ArbGraph and its rivals behind one interface, in one table."""

from arbgraph.systems.base import System
from arbgraph.systems.registry import SystemInfo, UnknownSystemError, open_system, systems

__all__ = ["System", "SystemInfo", "UnknownSystemError", "open_system", "systems"]
