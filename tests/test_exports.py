"""Everything that `arbgraph` offers by name can be had, and is what its home calls it."""

from __future__ import annotations

import arbgraph


def test_every_public_name_is_there():
    for name in arbgraph.__all__:
        thing = getattr(arbgraph, name)
        assert name == "__version__" or thing.__name__ == name
    assert set(dir(arbgraph)) == set(arbgraph.__all__)
    assert {"ChatModel", "CausalArbitrator", "System", "open_chat", "open_system"} <= set(arbgraph.__all__)
