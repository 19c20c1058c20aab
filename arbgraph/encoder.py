"""SentenceEncoder: text -> unit vectors (mean pooling over a Hugging Face encoder)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from arbgraph.models import ResolvedModel, resolve_model


def length_sorted_batches(lengths: Sequence[int], batch_size: int) -> list[list[int]]:
    """Row numbers in batches of similar length, longest first; ties keep their order, so equal input gives equal batches."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


class SentenceEncoder:
    """Unit sentence vectors, so that a dot product is a cosine.

    The rows of one call are batched by length. Which rows share a batch changes the last bits of a vector, so callers that
    need a result independent of other queries encode one query per call.

    Args:
        model: hub name, folder or packaged model (see `arbgraph.models`).
        max_tokens: longer texts are cut to this many tokens.
        batch_size: texts per forward pass.
        device: a torch device; None takes CUDA where there is one.
        offline: never touch the network.
    """

    def __init__(
        self,
        model: str = "sentence-transformers/all-MiniLM-L6-v2",
        *,
        max_tokens: int = 128,
        batch_size: int = 64,
        device: str | None = None,
        offline: bool = True,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        self.resolved: ResolvedModel = resolve_model(model, offline=offline)
        self.max_tokens, self.batch_size = max_tokens, batch_size
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.tokenizer = AutoTokenizer.from_pretrained(self.resolved.path, local_files_only=True)
        self.model = AutoModel.from_pretrained(self.resolved.path, local_files_only=True).to(self.device).eval()

    @property
    def dimension(self) -> int:
        """D, the length of a vector."""
        return self.model.config.hidden_size

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors of the texts, `[len(texts), D]` float32 on the CPU. Equal texts get equal vectors."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return torch.zeros(0, self.dimension)
        encodings = self.tokenizer(distinct, truncation=True, max_length=self.max_tokens)
        lengths = [len(ids) for ids in encodings["input_ids"]]
        vectors = torch.empty(len(distinct), self.dimension)
        for rows in length_sorted_batches(lengths, self.batch_size):
            batch = {key: [encodings[key][row] for row in rows] for key in encodings}
            inputs = self.tokenizer.pad(batch, return_tensors="pt").to(self.device)
            hidden = self.model(**inputs).last_hidden_state
            mask = inputs["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
            vectors[rows] = torch.nn.functional.normalize(mean, dim=-1).float().cpu()
        position = {text: row for row, text in enumerate(distinct)}
        return vectors[[position[text] for text in texts]]
