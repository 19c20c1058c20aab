"""The rows of the table of systems."""

from __future__ import annotations

from arbgraph.systems.registry import SystemInfo

ROWS: tuple[SystemInfo, ...] = (
    SystemInfo(
        name="arbgraph",
        title="ArbGraph",
        paper="ArbGraph",
        year=2026,
        target="arbgraph.systems.arbgraph:ArbGraphSystem",
        needs=("encoder", "verifier"),
        deviations="A chat model is optional: without one, syntax, a trained verifier and counted evidence take its place.",
    ),
    SystemInfo(
        name="standard",
        title="Standard RAG",
        paper="concatenated prompt",
        year=2020,
        target="arbgraph.systems.standard:StandardRAG",
    ),
    SystemInfo(
        name="madam-rag",
        title="MADAM-RAG",
        paper="Retrieval-Augmented Generation with Conflicting Evidence",
        year=2025,
        target="arbgraph.systems.madam:MadamRAG",
        deviations=(
            "An unreadable reply is a failure and never agreement; answers are compared word by word; with raw history, only the final "
            "round is aggregated."
        ),
    ),
    SystemInfo(
        name="reliable-rag",
        title="ReliableRAG",
        paper="ReliableRAG",
        year=2026,
        target="arbgraph.systems.reliable:ReliableRAG",
        needs=("chat", "option scores", "encoder"),
        deviations=(
            "L, K, B and F, which the paper does not give, are those of TRACE; credibility is divided by 10; triples with words that the "
            "document does not hold are dropped; a triple that cannot be rated is left out."
        ),
    ),
    SystemInfo(
        name="trace-rag",
        title="TRACE",
        paper="TRACE the Evidence: Constructing Knowledge-Grounded Reasoning Chains for RAG",
        year=2024,
        target="arbgraph.systems.reliable:TraceRAG",
        needs=("chat", "option scores", "encoder"),
        deviations="The search of reliable-rag with relevance alone (alpha = 1).",
    ),
    SystemInfo(
        name="cram",
        title="CrAM",
        paper="CrAM: Credibility-Aware Attention Modification in LLMs",
        year=2024,
        target="arbgraph.systems.cram:CrAM",
        needs=("chat", "white box"),
        deviations=(
            "All heads unless some are chosen; a head's effect is measured on the log-probability of the wrong answer; the scaled call "
            "reads one question at a time; a document that cannot be rated keeps its attention."
        ),
    ),
    SystemInfo(
        name="astute-rag",
        title="Astute RAG",
        paper="Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge Conflicts",
        year=2024,
        target="arbgraph.systems.astute:AstuteRAG",
        deviations="All well supported answers are returned; replies of at most 256 tokens instead of 1,024.",
    ),
    SystemInfo(
        name="speculative-rag",
        title="Speculative RAG",
        paper="Speculative RAG: Enhancing Retrieval Augmented Generation through Drafting",
        year=2024,
        target="arbgraph.systems.speculative:SpeculativeRAG",
        needs=("chat", "option scores", "encoder"),
        deviations="Mean log-probabilities instead of products; one model drafts and verifies; clusters of sentence vectors.",
    ),
    SystemInfo(
        name="self-reflection",
        title="Single agent with self-reflection",
        paper="Self-Refine, as the single-agent peer of MADAM-RAG",
        year=2023,
        target="arbgraph.systems.self_reflection:SelfReflection",
        deviations="Three rounds; stops early when the answers stay the same.",
    ),
    SystemInfo(
        name="instruct-rag",
        title="InstructRAG (in context)",
        paper="InstructRAG: Instructing Retrieval-Augmented Generation via Self-Synthesized Rationales",
        year=2024,
        target="arbgraph.systems.instruct:InstructRAG",
        deviations="Two demonstrations of ours unless others are given; no fine-tuned variant.",
    ),
    SystemInfo(
        name="robust-rag",
        title="RobustRAG (keywords)",
        paper="Certifiably Robust RAG against Retrieval Corruption",
        year=2024,
        target="arbgraph.systems.robust:RobustRAG",
        deviations="Keyword aggregation only; a query whose answers share too few keywords is not answered.",
    ),
    SystemInfo(
        name="majority-vote",
        title="Majority vote",
        paper="per-document answers, plurality or threshold",
        year=2022,
        target="arbgraph.systems.majority:MajorityVote",
        deviations="Answers are one when their normal forms are equal; theta = 1 returns all answers.",
    ),
)
