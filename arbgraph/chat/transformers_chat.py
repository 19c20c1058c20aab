"""TransformersChat: any causal language model of Hugging Face, in this process; GGUF files, LoRA adapters, several GPUs."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel
from torch import Tensor

from arbgraph.chat.base import ChatError, ChatModel, Message, Messages, Reply, Request, request_key, schema_json
from arbgraph.chat.prefix import SHORTEST, PrefixStates
from arbgraph.encoder import length_sorted_batches
from arbgraph.models import ResolvedModel, resolve_model, weights_sha256
from arbgraph.schema import Failed, content_id

Precision = Literal["fp32", "bf16"]
DEFAULT_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"

# Some templates write today's date into the prompt, which would change the replies from day to day.
FIXED_DATE = "26 Jul 2024"


class TransformersChat(ChatModel):
    """Replies and option scores of a local causal language model, in left-padded batches of similar length.

    Greedy and deterministic by default. A prompt that does not fit the model's context is a `Failed`, never cut silently. Control
    tokens of the chat template that occur in a message are broken up, so that no text can open a turn of its own.
    `counts` has, beside those of every chat model, `control_tokens_defused` and `scored`, the prompts whose options were scored.

    Args:
        model: hub name, folder or packaged model (`arbgraph.models`); safetensors or GGUF.
        gguf_file: which file of the folder, where it holds several.
        adapter: folder of a PEFT adapter for this model.
        device: a torch device; None takes CUDA where there is one. device_map: as in accelerate, for models over several GPUs.
        precision: None is bf16 on CUDA and fp32 elsewhere. In bf16 a reply may depend on its batch; fp32 differs in the last bits.
        batch_size: prompts per forward pass, at most.
        temperature: 0 is greedy. Above 0 every prompt is sampled alone, from a seed of its own. Messages may ask for draws of their own.
        chat_template: a template for models that have none. template_options: further variables of the template.
        constrain: "auto" uses xgrammar for replies with a schema where it is installed; "never" only validates.
        offline: never touch the network.

    Raises ChatError for a model without a chat template, a folder with several GGUF files, or a foreign adapter.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        gguf_file: str | None = None,
        adapter: str | Path | None = None,
        device: str | None = None,
        device_map: str | dict[str, Any] | None = None,
        precision: Precision | None = None,
        batch_size: int = 16,
        temperature: float = 0.0,
        seed: int = 0,
        chat_template: str | None = None,
        template_options: Mapping[str, Any] | None = None,
        constrain: Literal["auto", "never"] = "auto",
        offline: bool = True,
    ) -> None:
        super().__init__()
        if device is not None and device_map is not None:
            raise ValueError("give device or device_map, not both")
        self.resolved: ResolvedModel = resolve_model(model, offline=offline)
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        on_gpu = device_map is not None or place.type == "cuda"
        self.precision: Precision = precision or ("bf16" if on_gpu else "fp32")
        self.tokenizer, self.model = _load(self.resolved.path, gguf_file, self.precision, device_map)
        if adapter is not None:
            self.model = _adapted(self.model, Path(adapter), self.precision)
        if device_map is None:
            self.model.to(place)
        self.model.eval()
        self.batch_size, self.temperature, self.seed = batch_size, temperature, seed
        self._template_options = {"date_string": FIXED_DATE, **(template_options or {})}
        if chat_template is not None:
            self.tokenizer.chat_template = chat_template
        if self.tokenizer.chat_template is None:
            raise ChatError(f"{self.resolved.name}: has no chat template; use an instruction-tuned model, or give chat_template")
        self._constraint = _Constraint.of(self.tokenizer, self.model.config.vocab_size) if constrain == "auto" else None
        self._has_system_turn = self._accepts_system_turn()
        self._controls = _control_tokens(self.tokenizer)
        self._prefixes = PrefixStates(self.model)
        self._beginnings: dict[Message, list[int]] = {}
        self.name = self.resolved.name
        self.revision = content_id(
            self.resolved.sha256, gguf_file, adapter and weights_sha256(Path(adapter)), self.precision, self.tokenizer.chat_template
        )

    @property
    def parameters(self) -> dict[str, Any]:
        seed = {"seed": self.seed} if self.temperature > 0 or self.seed else {}
        sampling = {"temperature": max(self.temperature, 0.0), **seed}
        return sampling | {"template": self._template_options, "constraint": "xgrammar" if self._constraint else "none"}

    @property
    def device(self) -> torch.device:
        """Where inputs go."""
        return self.model.device

    @property
    def context(self) -> int | None:
        """Tokens that prompt and reply may have together; None where the model states none."""
        return getattr(self.model.config, "max_position_embeddings", None)

    def count_tokens(self, text: str) -> int:
        return len(self._encode(text))

    def render(self, messages: Messages) -> str:
        """The conversation in the model's chat template, up to where the reply begins."""
        turns = [{"role": turn.role, "content": self._defused(turn.content)} for turn in messages.turns]
        if not self._has_system_turn and turns[0]["role"] == "system":
            system, first, *rest = turns
            turns = [{"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}, *rest]
        return self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **self._template_options)

    def _accepts_system_turn(self) -> bool:
        from jinja2 import TemplateError

        turns = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
        try:
            self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **self._template_options)
        except TemplateError:
            return False
        return True

    def _defused(self, text: str) -> str:
        """The text with a zero-width space inside every control token of the template."""
        for token in self._controls:
            if token in text:
                self.counts["control_tokens_defused"] += text.count(token)
                text = text.replace(token, f"{token[0]}\u200b{token[1:]}")
        return text

    def _encode(self, text: str) -> list[int]:
        # Special tokens are the template's business; lone surrogates, which broken documents bring, are nobody's.
        return self.tokenizer(text.encode("utf-8", "replace").decode(), add_special_tokens=False)["input_ids"]

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply | Failed]]:
        prompts = [self._encode(self.render(request.messages)) for request in requests]
        groups: dict[tuple[type[BaseModel] | None, int, float], list[int]] = {}
        for row, request in enumerate(requests):
            needed = len(prompts[row]) + request.max_tokens
            if self.context is not None and needed > self.context:
                reason = f"a prompt of {len(prompts[row])} tokens and a reply of {request.max_tokens} exceed the context of {self.context}"
                yield row, Failed(stage=request.messages.stage, reason=reason)
            else:
                # Only constrained replies need a batch of one schema.
                sampling = request.messages.sampling
                temperature = self.temperature if sampling is None else sampling.temperature
                groups.setdefault((request.schema if self._constraint else None, request.max_tokens, temperature), []).append(row)
        for (schema, max_tokens, temperature), rows in groups.items():
            size = 1 if temperature > 0 else self.batch_size
            for batch in length_sorted_batches([len(prompts[row]) for row in rows], size):
                chosen = [rows[position] for position in batch]
                seed = content_id(self.seed, request_key({}, requests[chosen[0]].messages))
                replies = self._generate([prompts[row] for row in chosen], schema, max_tokens, temperature, int(seed, 16) % 2**63)
                yield from zip(chosen, replies, strict=True)

    @torch.inference_mode()
    def _generate(
        self, prompts: list[list[int]], schema: type[BaseModel] | None, max_tokens: int, temperature: float, seed: int
    ) -> list[Reply]:
        from transformers import GenerationConfig

        ids, mask = self._padded(prompts)
        ends = _end_tokens(self.model, self.tokenizer)
        config = GenerationConfig(max_new_tokens=max_tokens, do_sample=False, eos_token_id=ends, pad_token_id=self.tokenizer.pad_token_id)
        if temperature > 0:
            config.update(do_sample=True, temperature=temperature, top_k=0, top_p=1.0)
        processors = [] if self._constraint is None or schema is None else [self._constraint.processor(schema)]
        with torch.random.fork_rng(enabled=temperature > 0):
            if temperature > 0:
                torch.manual_seed(seed)
            output = self.model.generate(input_ids=ids, attention_mask=mask, generation_config=config, logits_processor=processors)
        return [self._reply(row, len(prompt), set(ends)) for row, prompt in zip(output[:, ids.shape[1] :].tolist(), prompts, strict=True)]

    def _reply(self, written: list[int], prompt_tokens: int, ends: set[int]) -> Reply:
        end = next((position for position, token in enumerate(written) if token in ends), None)
        text = self.tokenizer.decode(written[:end], skip_special_tokens=True)
        if end is None:
            return Reply(text, "length", prompt_tokens, len(written))
        return Reply(text, "stop", prompt_tokens, end + 1)

    def _padded(self, sequences: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
        """Left-padded token ids and their mask, `[B, L]` each."""
        longest = max(len(sequence) for sequence in sequences)
        ids = torch.full((len(sequences), longest), self.tokenizer.pad_token_id, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, longest - len(sequence) :] = torch.tensor(sequence)
            mask[row, longest - len(sequence) :] = 1
        return ids.to(self.device), mask.to(self.device)

    def option_logprobs(self, prompts: Sequence[Messages], options: Sequence[str]) -> Tensor:
        """As in `ChatModel`: the sum over the option's tokens, split as the tokenizer splits prompt and option together.

        One row per prompt gives every option of one token, at the position where the reply begins, and one longer option; each
        further longer option takes a row of its own. What the model computes for a system turn is kept, so a prompt costs its user turn.
        """
        rendered = [self.render(messages) for messages in prompts]
        starts = [self._encode(text) for text in rendered]
        endings = [[self.option_tokens(text, ids, option) for option in options] for text, ids in zip(rendered, starts, strict=True)]
        scores = torch.full((len(prompts), len(options)), torch.nan, dtype=torch.float64)
        fits = [row for row, ids in enumerate(starts) if self.context is None or len(ids) + max(map(len, endings[row])) <= self.context]
        self.counts["failed_scores"] += len(prompts) - len(fits)
        self.counts["scored"] += len(fits)
        # By shared beginning: prompt, tokens after it, options that they score.
        passes: dict[tuple[int, ...], list[tuple[int, list[int], list[int]]]] = {}
        for row in fits:
            listed = passes.setdefault(self._prefix(prompts[row], starts[row]), [])
            short = [option for option, tokens in enumerate(endings[row]) if len(tokens) == 1]
            for option in [option for option in range(len(options)) if option not in short]:
                listed.append((row, endings[row][option][:-1], [*short, option]))
                short = []
            if short:
                listed.append((row, [], short))
        for prefix, listed in passes.items():
            for batch in length_sorted_batches([len(starts[row]) + len(tail) for row, tail, _ in listed], self.batch_size):
                chosen = [listed[position] for position in batch]
                sequences = [starts[row][len(prefix) :] + tail for row, tail, _ in chosen]
                table = self._log_softmax(sequences, keep=1 + max(len(tail) for _, tail, _ in chosen), prefix=prefix)
                for logprobs, (row, tail, scored) in zip(table, chosen, strict=True):
                    # Padding is on the left, so the last positions predict the first, second, ... token of the reply.
                    reply = logprobs[-len(tail) - 1 :]
                    for option in scored:
                        tokens = endings[row][option]
                        scores[row, option] = reply[torch.arange(len(tokens)), tokens].sum()
        return scores

    def _prefix(self, messages: Messages, ids: list[int]) -> tuple[int, ...]:
        """The tokens of a prompt that every prompt with its system turn begins with; empty where keeping them does not pay.

        They depend on the system turn alone, so that a prompt is scored in the same way alone and in any batch.
        """
        system = messages.turns[0]
        if not self._prefixes.usable or system.role != "system":
            return ()
        if system not in self._beginnings:
            first, second = (self._encode(self.render(Messages((system, Message("user", text))))) for text in ("a", "Z"))
            self._beginnings[system] = first[: _common_length(first, second)]
        length = _common_length(self._beginnings[system], ids)
        return tuple(ids[:length]) if SHORTEST <= length < len(ids) else ()

    def option_tokens(self, text: str, ids: list[int], option: str) -> list[int]:
        """The tokens of an option behind a rendered prompt and its token ids. Raises ValueError on an option without any."""
        joined = self._encode(text + option)
        tokens = joined[len(ids) :] if joined[: len(ids)] == ids else self._encode(option)
        if not tokens:
            raise ValueError(f"option {option!r} has no tokens; give a word")
        return tokens

    @torch.inference_mode()
    def _log_softmax(self, sequences: list[list[int]], keep: int, prefix: tuple[int, ...] = ()) -> Tensor:
        """Log-probabilities `[B, keep, V]` float64 on the CPU at the last `keep` positions of sequences that continue `prefix`."""
        given = self._prefixes.for_batch(prefix, len(sequences)) if prefix else None
        if given is None:
            prefix, given, sequences = (), {"use_cache": False}, [[*prefix, *sequence] for sequence in sequences]
        ids, mask = self._padded(sequences)
        positions = (mask.cumsum(-1) - 1).clamp(min=0) + len(prefix)
        mask = torch.cat([mask.new_ones(len(sequences), len(prefix)), mask], dim=-1)
        logits = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, logits_to_keep=keep, **given).logits
        return logits[:, -keep:].float().cpu().double().log_softmax(-1)


def _common_length(*sequences: Sequence[int]) -> int:
    """How many leading tokens all sequences share."""
    return next((at for at, tokens in enumerate(zip(*sequences, strict=False)) if len(set(tokens)) > 1), min(map(len, sequences)))


class _Constraint:
    """Masks tokens that cannot continue a JSON object of a schema, with xgrammar."""

    def __init__(self, compiler: Any, processor: Any) -> None:
        self._compiler, self._processor = compiler, processor

    @classmethod
    def of(cls, tokenizer: Any, vocab_size: int) -> _Constraint | None:
        """None where xgrammar is not installed: replies are then only validated."""
        if importlib.util.find_spec("xgrammar") is None:
            return None
        import xgrammar  # pyright: ignore[reportMissingImports]

        about = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=vocab_size)
        return cls(xgrammar.GrammarCompiler(about), xgrammar.contrib.hf.LogitsProcessor)

    def processor(self, schema: type[BaseModel]) -> Any:
        """A fresh logits processor: it holds the state of one batch."""
        return self._processor(self._compiler.compile_json_schema(json.dumps(schema_json(schema))))


def _load(folder: Path, gguf_file: str | None, precision: Precision, device_map: str | dict[str, Any] | None) -> tuple[Any, Any]:
    """Tokenizer (pads on the left) and model of a folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    options: dict[str, Any] = {"local_files_only": True}
    if gguf_file or not any(folder.glob("*.safetensors")):
        options["gguf_file"] = _gguf(folder, gguf_file)
    else:
        options["use_safetensors"] = True
    tokenizer = AutoTokenizer.from_pretrained(folder, **{key: value for key, value in options.items() if key != "use_safetensors"})
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    placed = {} if device_map is None else {"device_map": device_map}
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **options, **placed)
    # A model's own defaults (temperature, repetition penalty) would make its replies neither greedy nor comparable.
    kept = {"eos_token_id": model.generation_config.eos_token_id, "bos_token_id": model.generation_config.bos_token_id}
    model.generation_config = type(model.generation_config)(**kept)
    return tokenizer, model


def _gguf(folder: Path, name: str | None) -> str:
    found = sorted(path.name for path in folder.glob("*.gguf"))
    if name is not None and name not in found:
        raise ChatError(f"{folder}: has no {name}; it holds {', '.join(found) or 'no GGUF file'}")
    if name is None and len(found) != 1:
        raise ChatError(f"{folder}: holds {len(found)} GGUF files ({', '.join(found)}); name one with gguf_file")
    if importlib.util.find_spec("gguf") is None:
        raise ChatError("reading GGUF files needs the gguf package; pip install 'arbgraph[llm]'")
    return name or found[0]


def _adapted(model: Any, folder: Path, precision: Precision) -> Any:
    from peft import PeftModel

    if not (folder / "adapter_config.json").is_file() or not (folder / "adapter_model.safetensors").is_file():
        raise ChatError(f"{folder}: holds no PEFT adapter (adapter_config.json, adapter_model.safetensors)")
    try:
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=False)
    except (ValueError, RuntimeError) as error:
        raise ChatError(f"{folder}: the adapter does not fit the model: {error}") from error
    # Merged in float32 only: merging in bf16 would round small updates away.
    return adapted.merge_and_unload() if precision == "fp32" else adapted  # pyright: ignore[reportCallIssue]


def _end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that end a reply: those of the model's generation config and the tokenizer's."""
    named = model.generation_config.eos_token_id
    ends = {*(named if isinstance(named, list) else [named]), tokenizer.eos_token_id} - {None}
    return sorted(ends)


def _control_tokens(tokenizer: Any) -> list[str]:
    """The special tokens of a tokenizer, longest first."""
    added = {str(token) for token in tokenizer.added_tokens_decoder.values() if token.special}
    return sorted({token for token in added | set(tokenizer.all_special_tokens) if len(token) > 1}, key=lambda t: (-len(t), t))
