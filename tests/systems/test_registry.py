"""What the table says of a system's options."""

from __future__ import annotations

from arbgraph.systems import systems


def test_options_include_those_handed_on():
    options = systems()["react"].options()
    assert {"chat", "steps", "step_tokens", "document_tokens", "max_tokens"} <= set(options)
    assert "options" not in options
    assert "self" not in options
    assert set(systems()["closed-book"].options()) == {"chat", "max_tokens"}
