"""What a model computed for the beginning that many prompts share (the rules of a prompt), kept and used again."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import torch

SHORTEST = 16  # tokens below which keeping a beginning is not worth a forward pass of its own
KEPT = 4  # beginnings kept; a run asks one or two prompts at a time


class PrefixStates:
    """Keys and values of token sequences that prompts begin with, least recently used dropped first.

    Only for models whose every layer attends to all earlier tokens: a sliding window or a recurrent state would count the padding
    between a kept beginning and the rest of a shorter prompt. `usable` is False for the others, and for models without such a cache.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.usable = True
        self._kept: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    def for_batch(self, prefix: tuple[int, ...], size: int) -> dict[str, Any] | None:
        """Arguments of one forward pass of `size` rows that continue the tokens; None where the model does not allow it."""
        if prefix not in self._kept:
            states = self._computed(prefix)
            if not self.usable:
                return None
            self._kept[prefix] = states
        self._kept.move_to_end(prefix)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        states = copy.deepcopy(self._kept[prefix])  # a forward pass appends to the cache that it is given
        states.batch_repeat_interleave(size)
        return {self._argument: states, "use_cache": True}

    @torch.inference_mode()
    def _computed(self, prefix: tuple[int, ...]) -> Any:
        from transformers.cache_utils import DynamicLayer

        ids = torch.tensor([prefix], device=self.model.device)
        output = self.model(input_ids=ids, use_cache=True, logits_to_keep=1)
        # Versions of transformers call the same thing by different names, of the output and of the argument alike.
        self._argument = "cache" if "cache" in output else "past_key_values"
        states = output.get(self._argument)
        layers = getattr(states, "layers", ())
        self.usable = bool(layers) and all(type(layer) is DynamicLayer and layer.get_seq_length() == len(prefix) for layer in layers)
        return states
