"""Writes passages with questions made by rule: `python -m train.data.synthetic_questions --data DATA --out questions.jsonl.gz`.

One JSON object a line: `{"title", "text", "source", "questions": [{"question", "start", "end", "sentence", "style"}]}`.
Offsets are of `text`. About 2,500 words a second on one core.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from pathlib import Path

from jsonargparse import auto_cli

from train.console import say
from train.data.attributes import attribute_questions
from train.data.cloze import cloze_questions, parsed
from train.data.questions import plain_passages


def synthetic_questions(data: str, out: str, words: int = 2_000_000) -> None:
    """Asks about every plain passage of the question sets.

    Args:
        data: folder of the question sets.
        out: file to write, ending in .jsonl.gz.
        words: stop after so many words.
    """
    counts: dict[str, int] = {}
    seen, passages = 0, 0
    partial = Path(out + ".partial")
    with gzip.open(partial, "wt", encoding="utf-8", compresslevel=5) as stream:
        for passage, doc in parsed(plain_passages(data)):
            sentences = [(sentence.start_char, sentence.end_char) for sentence in doc.sents]
            questions = attribute_questions(passage.title, passage.text, sentences) + cloze_questions(doc, passage.title)
            for one in questions:
                counts[one.style] = counts.get(one.style, 0) + 1
            seen, passages = seen + len(doc), passages + 1
            record = {
                "title": passage.title,
                "text": passage.text,
                "source": passage.source,
                "questions": [asdict(one) for one in questions],
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            if seen >= words:
                break
    partial.replace(out)
    say(f"{passages} passages, {seen} words, questions: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")


if __name__ == "__main__":
    auto_cli(synthetic_questions, as_positional=False)
