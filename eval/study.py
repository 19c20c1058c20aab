"""Study files: one YAML that names the runs of an ablation, sweep or comparison, and the published numbers to set beside them.

```yaml
title: Variants of the paper's Table 3
base: {settings: default}            # what every run starts from
reference: full                      # the run that the others are compared with
runs:
  full: {}
  no_screen: {settings: {tau_q: -1}}
  no_graph: {variant: no_graph}
  truthfinder: {propagation: truthfinder}
sweeps:                              # each value becomes a run named `tau_q=0.3`
  tau_q: [-1, 0.2, 0.3]
published:                           # shown beside ours; never compared with a test
  - {run: full, metric: fact recall, value: 83.3, source: "ArbGraph, Table 3a, average"}
```
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arbgraph.io import InputError
from arbgraph.settings import PROFILES, Settings

Variant = Literal["no_graph", "no_soft", "no_gate"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RunSpec(_Strict):
    """How one run differs from the base.

    Attributes:
        settings: fields of `Settings` that change.
        variant: a change that no setting expresses (`eval.variants`).
        propagation: a rival by name, or a fitted propagation by name or folder; null keeps Algorithm 1.
        arbitrator: `fixed`, or a learned evidence arbitrator by name or folder; null keeps that of the base.
        graphs: the suffix of another graph set of the same questions, built with another verifier; null takes the plain one.
    """

    settings: dict[str, Any] = Field(default_factory=dict)
    variant: Variant | None = None
    propagation: str | None = None
    arbitrator: str | None = None
    graphs: str | None = None


class Base(_Strict):
    """What every run starts from: a profile or settings file, a fitted propagation, an arbitrator."""

    settings: str = "default"
    propagation: str | None = None
    arbitrator: str = "fixed"


class Published(_Strict):
    """A number of a paper, with where it stands; `run` names the run that it belongs to."""

    run: str
    metric: str
    value: float
    source: str


class Study(_Strict):
    """A study file. Sweeps and runs together name at least the reference."""

    title: str
    about: str = ""
    base: Base = Field(default_factory=Base)
    reference: str
    runs: dict[str, RunSpec] = Field(default_factory=dict)
    sweeps: dict[str, list[Any]] = Field(default_factory=dict)
    published: tuple[Published, ...] = ()

    def expanded(self) -> dict[str, RunSpec]:
        """Every run by name: those written out, then one for each value of each sweep."""
        return {**self.runs, **self.swept()}

    def swept(self) -> dict[str, RunSpec]:
        """The runs of the sweeps."""
        return {
            f"{field}={'all' if value is None else value}": RunSpec(settings={field: value})
            for field, values in self.sweeps.items()
            for value in values
        }


def load_study(path: str | Path) -> Study:
    """Reads and checks a study file. Raises InputError, naming the key, on anything that a run would stumble over."""
    path = Path(path)
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML: {error}") from None
    try:
        study = Study.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{path}: {'.'.join(str(part) for part in first['loc']) or 'the file'}: {first['msg']}") from None
    _check(study, path)
    return study


def _check(study: Study, path: Path) -> None:
    runs = study.expanded()
    fields = [name for run in runs.values() for name in run.settings]
    unknown = sorted({name for name in [*fields, *study.sweeps] if name not in Settings.model_fields})
    if unknown:
        raise InputError(f"{path}: {unknown[0]!r} is no setting; see `arbgraph show --settings`")
    twice = sorted(set(study.runs) & set(study.swept()))
    if twice:
        raise InputError(f"{path}: run {twice[0]!r} is named twice")
    if study.reference not in runs:
        raise InputError(f"{path}: reference {study.reference!r} is none of the runs; choose one of {', '.join(runs)}")
    lost = sorted({row.run for row in study.published} - set(runs))
    if lost:
        raise InputError(f"{path}: a published number belongs to run {lost[0]!r}, which is none of the runs")
    if (
        study.base.settings not in PROFILES
        and not (path.parent / study.base.settings).is_file()
        and not Path(study.base.settings).is_file()
    ):
        raise InputError(f"{path}: base.settings {study.base.settings!r} is neither a profile ({', '.join(PROFILES)}) nor a file")
    for name, run in runs.items():
        if run.propagation is not None and run.variant is not None:
            raise InputError(f"{path}: run {name!r} has a variant of Algorithm 1 and another propagation; take one")
