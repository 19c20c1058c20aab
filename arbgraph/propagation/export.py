"""Fitted credibility propagation for other programs: parameters as JSON, and the exact layer as one ONNX program.

The program takes all verdicts up front instead of asking an arbitrator, and works in float64 on graphs of any size, alone or
in a batch. A contradiction without a verdict (NaN) moves nothing; the program says which of them were selected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from arbgraph.export import ExportError, new_folder, versions, write_json, write_onnx
from arbgraph.graph import EvidenceGraph
from arbgraph.propagation.choices import ON_THRESHOLD, TIE_DECIMALS
from arbgraph.propagation.credibility import LEARNABLE, CredibilityPropagation
from arbgraph.propagation.edges import CapScope, graph_of
from arbgraph.propagation.fitted import parameters_of
from arbgraph.propagation.trace import conflict_intensity
from arbgraph.schema import CONTRADICT, NEUTRAL, SUPPORT

PARAMETERS, PROGRAM, REPORT, CARD = "parameters.json", "propagation.onnx", "export.json", "README.md"
NODE_INPUTS = ("prior", "relevance", "sources", "source_credibility", "agreement", "batch")
PAIR_INPUTS = ("similarity", "relation", "verdict")
OUTPUTS = ("s", "p", "accepted", "selected", "unanswered")
LIMIT = 1e-9  # largest difference of a logit; decisions must be equal
TEXT = """# {name}

Credibility propagation `{source}`. `parameters.json` holds every parameter by the name that `CredibilityPropagation` gives it.
`propagation.onnx` is its exact mode in float64 for N claims and E pairs, any numbers of them: `prior`, `relevance`, `sources`,
`source_credibility` (NaN where unknown), `agreement` (1 without copies) and `batch` (ascending number of the graph) of the claims;
`pair_index` [2, E], `similarity`, `relation` and `verdict` [E, 3] of the pairs (NaN where there is no verdict) in; logits `s`,
credibility `p`, `accepted`, `selected` [T, E] by round, and `unanswered` (selected, without a verdict) out. `export.json` says what
was measured.
"""


def export_propagation(layer: CredibilityPropagation, out: str | Path, *, source: str = "") -> dict[str, Any]:
    """Writes parameters, program and report into a new folder, and returns the report.

    Raises ExportError on what no program can hold (the random scheduler, budgets by graph, source trust), and when the program
    and the layer differ on random graphs.
    """
    out = Path(out)
    program = ExactProgram(layer)
    with new_folder(out, PARAMETERS) as partial:
        write_json(partial / PARAMETERS, parameters_of(layer))
        inputs = program_inputs(random_graphs(0)[0])
        claims, pairs = torch.export.Dim("claims"), torch.export.Dim("pairs")
        shapes = {name: {0: claims} for name in NODE_INPUTS} | {name: {0: pairs} for name in PAIR_INPUTS} | {"pair_index": {1: pairs}}
        write_onnx(program, inputs, {name: shapes[name] for name in inputs}, list(OUTPUTS), partial / PROGRAM)
        parity = check_parity(layer, partial / PROGRAM)
        (partial / CARD).write_text(TEXT.format(name=out.name, source=source or "as given"), encoding="utf-8", newline="\n")
        sizes = {path.name: path.stat().st_size for path in sorted(partial.iterdir())}
        report = {"format": "onnx", "source": {"name": source}, "parity": parity, "bytes": sizes, "versions": versions()}
        write_json(partial / REPORT, report)
    return report


def check_parity(layer: CredibilityPropagation, program: Path, graphs: int = 40) -> dict[str, Any]:
    """Runs layer and program on random graphs and batches of them. Raises ExportError where they differ beyond LIMIT."""
    from arbgraph.verifier.exported import open_session

    session = open_session(program)
    worst, claims, pairs, rounds = 0.0, 0, 0, 0
    for graph in random_graphs(1, graphs):
        feed = {name: tensor.numpy() for name, tensor in program_inputs(graph).items()}
        found = {name: torch.from_numpy(value) for name, value in zip(OUTPUTS, session.run(list(OUTPUTS), feed), strict=True)}
        with torch.no_grad():
            trace = layer(graph)
        expected = [(round_.selected > 0) for round_ in trace.rounds]
        selected = list(found["selected"] > 0)
        same = torch.equal(found["accepted"], trace.accepted) and all(map(torch.equal, selected, expected))
        worst = max(worst, float((found["s"] - trace.s).abs().max()) if trace.s.numel() else 0.0)
        if not same or any(bool(row.any()) for row in selected[len(expected) :]) or not worst <= LIMIT:
            raise ExportError(
                f"the exported propagation differs from its layer on random graph of {trace.s.numel()} claims (logits by {worst:.2g}); "
                "nothing was written; report the parameters and the versions"
            )
        claims, pairs, rounds = claims + trace.s.numel(), pairs + graph.num_pairs, rounds + len(expected)
    counts = {"graphs": graphs, "claims": claims, "pairs": pairs, "rounds": rounds}
    return {**counts, "limit": LIMIT, "decisions_equal": True, "largest_difference": {"s": worst}}


def program_inputs(graph: EvidenceGraph) -> dict[str, Tensor]:
    """What the program takes, from a graph or a batch of graphs."""
    claims = graph.prior.numel()
    fields = {name: graph[name].double() for name in ("prior", "relevance", "sources", "source_credibility", *PAIR_INPUTS)}
    agreement = graph.get("agreement")
    fields["agreement"] = torch.ones(claims, dtype=torch.float64) if agreement is None else agreement.double()
    fields |= {"batch": graph_of(graph), "pair_index": graph["pair_index"]}
    return {name: fields[name] for name in (*NODE_INPUTS, "pair_index", *PAIR_INPUTS)}


def random_graphs(seed: int, count: int = 1) -> list[EvidenceGraph]:
    """Batches of up to four random graphs in float64, ties and values on round thresholds among them, the smallest without pairs."""
    from torch_geometric.data import Batch

    generator = torch.Generator().manual_seed(seed)
    drawn = []
    for number in range(count):
        sizes = torch.randint(2, 14, (1 + number % 4,), generator=generator).tolist()
        drawn.append(Batch.from_data_list([_random_graph(size, generator) for size in sizes]))
    return drawn


def _random_graph(claims: int, generator: torch.Generator) -> EvidenceGraph:
    def draw(*shape: int) -> Tensor:
        # Twentieths: many values are equal, and many lie on a threshold.
        return torch.randint(1, 20, shape, generator=generator).double() / 20

    pairs = torch.combinations(torch.arange(claims)).T
    pairs = pairs[:, torch.rand(pairs.shape[1], generator=generator) < 0.6]
    relation, verdict = draw(pairs.shape[1], 3) + torch.tensor([0.0, 0.5, 0.0]), draw(pairs.shape[1], 3)
    known = torch.where(draw(claims) < 0.5, torch.nan, draw(claims))
    return EvidenceGraph.build(
        torch.where(draw(claims) < 0.5, 0.5, draw(claims)),
        pairs,
        relation / relation.sum(1, keepdim=True),
        similarity=draw(pairs.shape[1]) / 2 + 0.5,
        relevance=draw(claims),
        verdict=verdict / verdict.sum(1, keepdim=True),
        source_credibility=known,
    )


class ExactProgram(nn.Module):
    """Algorithm 1 in operations that an ONNX file can hold: all rounds run, and shapes depend on N and E alone.

    A second statement of the layer, which steers by the data that it sees; `check_parity` holds the two together.
    """

    def __init__(self, layer: CredibilityPropagation) -> None:
        super().__init__()
        if layer.scheduler == "random":
            raise ExportError("the random scheduler draws from torch's generator, which no program holds; choose another scheduler")
        if isinstance(layer.budget, Tensor):
            raise ExportError("budgets by graph belong to one batch and not to a program; give one budget")
        if layer.source_trust is not None:
            raise ExportError("learned source trust is no part of the exported program; export the layer without source_trust")
        self.rounds, self.budget, self.scheduler, self.unlimited = layer.rounds, layer.budget, layer.scheduler, layer.unlimited
        self.early_stop, self.cap = layer.early_stop, layer.support_cap
        self.cap_scope: CapScope = layer.support_cap_scope
        # Tensors, because the exporter writes Python's numbers in float32.
        self.value = {name: torch.tensor(value, dtype=torch.float64) for name, value in parameters_of(layer).items() if name in LEARNABLE}
        threshold, slack = torch.logit(self.value["tau_accept"]), ON_THRESHOLD[torch.float64]
        self.above, self.reached = threshold + slack, threshold - slack
        self.coupled = bool(self.value["coupling"] != 0)

    def forward(
        self,
        prior: Tensor,
        relevance: Tensor,
        sources: Tensor,
        source_credibility: Tensor,
        agreement: Tensor,
        batch: Tensor,
        pair_index: Tensor,
        similarity: Tensor,
        relation: Tensor,
        verdict: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        a, b = pair_index[0], pair_index[1]
        # Numbers of graphs without gaps, so that there are at most N of them.
        number = torch.cumsum(torch.cat([torch.zeros_like(batch[:1]), (batch[1:] != batch[:-1]).long()]), 0)
        group = number[a]
        kept = relevance >= self.value["tau_q"]
        support, contradiction = self._edges(kept, a, b, similarity, relation, group, prior)
        s = self._start(prior, relevance, sources, source_credibility, agreement)
        ties = self._tie_order(relation, similarity)
        fixed = self._fixed(support, similarity, a, b, prior)
        wins_a, wins_b = verdict[:, 0], verdict[:, 1]
        gate = ((wins_a >= self.value["tau_gate"]) | (wins_b >= self.value["tau_gate"])).double()
        direction = (wins_a > wins_b).double() - (wins_b > wins_a).double()
        times, running, history = torch.zeros_like(similarity), torch.ones_like(prior), []
        for _ in range(self.rounds):
            credible = s > self.above
            active = contradiction & credible[a] & credible[b]
            if self.early_stop:
                active = active & (running[group] > 0)
            p = torch.sigmoid(s)
            priority = fixed if fixed is not None else conflict_intensity(p[a], p[b]) - 3 * times * (self.scheduler == "round_robin")
            selected = active if self.unlimited else self._select(active, priority, ties, group, prior)
            history.append(selected)
            vote = selected.double() * gate * direction
            votes = torch.zeros_like(s).index_add(0, a, vote).index_add(0, b, -vote)
            s = s + self.value["step_size"] * votes
            if self.coupled:
                passed = support.double() * self.value["coupling"]
                passed = torch.zeros_like(s).index_add(0, a, passed * (2 * p - 1)[b]).index_add(0, b, passed * (2 * p - 1)[a])
                s = s + passed * running[number]
            times = times + selected.double()
            if self.early_stop:
                moved = torch.zeros_like(s).index_add(0, group, (vote != 0).double())
                running = running * (moved > 0).double()
        taken = torch.stack(history) if history else torch.zeros_like(contradiction).unsqueeze(0)[:0]
        accepted = kept & (s >= self.reached)
        unanswered = (times > 0) & wins_a.isnan()
        return s, torch.sigmoid(s), accepted, taken, unanswered

    def _start(self, prior: Tensor, relevance: Tensor, sources: Tensor, credibility: Tensor, agreement: Tensor) -> Tensor:
        known = torch.where(credibility.isnan(), torch.zeros_like(credibility), credibility - 0.5)
        shift = self.value["prior_bias"] + self.value["prior_sources"] * torch.log1p(sources) + self.value["prior_relevance"] * relevance
        shift = shift + self.value["prior_credibility"] * known + self.value["prior_agreement"] * (agreement - 1)
        return torch.log(prior / (1 - prior)) + shift

    def _edges(
        self, kept: Tensor, a: Tensor, b: Tensor, similarity: Tensor, relation: Tensor, group: Tensor, prior: Tensor
    ) -> tuple[Tensor, Tensor]:
        alive = kept[a] & kept[b] & (similarity >= self.value["tau_sim"])
        supports, contradicts, neutral = relation[:, SUPPORT], relation[:, CONTRADICT], relation[:, NEUTRAL]
        tau = self.value["tau_conf"]
        support = alive & (supports >= contradicts) & (supports >= neutral) & (supports >= tau)
        contradiction = alive & (contradicts > supports) & (contradicts >= neutral) & (contradicts >= tau)
        best = _descending(torch.where(support, similarity, torch.full_like(similarity, -2.0)))
        if self.cap_scope == "graph":
            within = _rank(group[best], prior) < self.cap
        else:
            within = (_rank(torch.stack([a[best], b[best]], dim=1).flatten(), prior) < self.cap).view(-1, 2).any(dim=1)
        return support & _scatter(within, best), contradiction

    @staticmethod
    def _tie_order(relation: Tensor, similarity: Tensor) -> Tensor:
        order = _descending(similarity)
        return order[_descending(relation.amax(dim=-1)[order])]

    def _fixed(self, support: Tensor, similarity: Tensor, a: Tensor, b: Tensor, prior: Tensor) -> Tensor | None:
        if self.scheduler not in ("hard_first", "easy_first"):
            return None
        degree = torch.zeros_like(prior).index_add(0, a, support.double()).index_add(0, b, support.double())
        value = similarity / 4 - (degree[a] - degree[b]).abs()
        return value if self.scheduler == "hard_first" else -value

    def _select(self, active: Tensor, priority: Tensor, ties: Tensor, group: Tensor, prior: Tensor) -> Tensor:
        assert isinstance(self.budget, int)
        decimals = 10.0 ** TIE_DECIMALS[torch.float64]
        score = torch.where(active, torch.round(priority * decimals), torch.full_like(priority, -1e18))
        order = ties[_descending(score[ties])]
        return active & _scatter(_rank(group[order], prior) < self.budget, order)


def _descending(value: Tensor) -> Tensor:
    """Positions from the largest value down, equals in their order."""
    if torch.compiler.is_exporting():
        # The exporter knows no stable sort, but ONNX's TopK puts equals in their order, which torch's does not promise.
        return torch.topk(value, value.shape[0]).indices
    return torch.sort(value, descending=True, stable=True).indices


def _scatter(value: Tensor, order: Tensor) -> Tensor:
    """Boolean `value` put where `order` says."""
    return torch.zeros_like(order).scatter(0, order, value.long()) > 0


def _rank(group: Tensor, prior: Tensor) -> Tensor:
    """Rank `[R]` of every row among the earlier rows of its group, from 0; groups are numbered below the length of `prior`."""
    by_group = _descending(-group)
    sizes = torch.zeros_like(prior, dtype=torch.long).index_add(0, group, torch.ones_like(group))
    starts = torch.cumsum(sizes, 0) - sizes
    rank = torch.cumsum(torch.ones_like(group), 0) - 1 - starts[group[by_group]]
    return torch.zeros_like(group).scatter(0, by_group, rank)
