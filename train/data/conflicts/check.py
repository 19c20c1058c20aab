"""How much of the label can be guessed without comparing the claims.

`python -m train.data.conflicts.check --train FILE --dev FILE [--pairs FILE]`.

Classifiers trained on the generated train split: one claim alone, the bags of words (their differences and their intersection), and
surface features of the pair. Each is reported on the generated dev split, per category, and on a file of hand-written pairs.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jsonargparse import auto_cli
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|nobody|nothing|without|failed|refused|false|untrue|cannot)\b|n't\b", re.IGNORECASE
)
NUMBER = re.compile(r"\d[\d.,]*")
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Row:
    """A labelled pair and its category ('' where the file has none)."""

    first: str
    second: str
    label: str
    category: str
    anchor: str


def read_rows(path: Path) -> list[Row]:
    """Rows of a JSONL(.gz) file with premise/hypothesis or claim_a/claim_b. Raises KeyError that names file and line for other columns."""
    rows = []
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            raw = json.loads(line)
            try:
                first, second = (raw["premise"], raw["hypothesis"]) if "premise" in raw else (raw["claim_a"], raw["claim_b"])
                category = raw.get("category") or raw.get("meta", {}).get("category", "")
                rows.append(Row(first, second, raw["label"], category, raw.get("meta", {}).get("anchor", "")))
            except KeyError as error:
                raise KeyError(
                    f"{path}, line {number}: no column {error}; need premise and hypothesis (or claim_a and claim_b), and label"
                ) from error
    return rows


def surface(row: Row) -> list[float]:
    """Overlap, lengths, negation words, shared and differing numbers, shared capitalised words."""
    a, b = ({word.lower() for word in WORD.findall(text)} for text in (row.first, row.second))
    m, n = (len(NEGATION.findall(text)) for text in (row.first, row.second))
    p, q = (set(NUMBER.findall(text)) for text in (row.first, row.second))
    c, d = ({word for word in WORD.findall(text)[1:] if word[0].isupper()} for text in (row.first, row.second))
    return [
        len(a & b) / len(a | b),
        len(a & b) / min(len(a), len(b)),
        len(a) + len(b),
        abs(len(a) - len(b)),
        m + n,
        abs(m - n),
        float((m > 0) != (n > 0)),
        len(p & q),
        len(p ^ q),
        float(bool(p) and bool(q) and not p & q),
        len(c & d),
        len(c ^ d),
        float(bool(c & d)),
    ]


class OneClaim:
    """Logistic regression on word and bigram TF-IDF of single claims; every pair gives two examples."""

    def fit(self, rows: Sequence[Row]) -> OneClaim:
        """Learns from both sides of every pair."""
        self.words = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
        x = self.words.fit_transform([text for row in rows for text in (row.first, row.second)])
        self.model = LogisticRegression(C=1.0, max_iter=200).fit(x, [row.label for row in rows for _ in range(2)])
        return self

    def predict(self, rows: Sequence[Row]) -> np.ndarray:
        """The label of the first claim alone, then of the second: [2 n] strings."""
        return self.model.predict(self.words.transform([row.first for row in rows] + [row.second for row in rows]))


class BagDifference:
    """Logistic regression on |tf-idf(a) - tf-idf(b)| and their product."""

    def fit(self, rows: Sequence[Row]) -> BagDifference:
        """Learns from the pairs."""
        self.words = TfidfVectorizer(min_df=3).fit([text for row in rows for text in (row.first, row.second)])
        self.model = LogisticRegression(C=1.0, max_iter=200).fit(self._features(rows), [row.label for row in rows])
        return self

    def _features(self, rows: Sequence[Row]):
        a, b = (csr_matrix(self.words.transform([getattr(row, side) for row in rows])) for side in ("first", "second"))
        return hstack([abs(a - b), a.multiply(b)]).tocsr()

    def predict(self, rows: Sequence[Row]) -> np.ndarray:
        """Labels, [n] strings."""
        return self.model.predict(self._features(rows))


class Surface:
    """Logistic regression on the surface features, standardised."""

    def fit(self, rows: Sequence[Row]) -> Surface:
        """Learns from the pairs."""
        x = np.array([surface(row) for row in rows])
        self.mean, self.std = x.mean(0), x.std(0) + 1e-9
        self.model = LogisticRegression(max_iter=500).fit((x - self.mean) / self.std, [row.label for row in rows])
        return self

    def predict(self, rows: Sequence[Row]) -> np.ndarray:
        """Labels, [n] strings."""
        return self.model.predict((np.array([surface(row) for row in rows]) - self.mean) / self.std)


def scores(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Accuracy and macro-F1."""
    return {
        "accuracy": round(float(accuracy_score(gold, predicted)), 4),
        "macro_f1": round(float(f1_score(gold, predicted, average="macro")), 4),
    }


def cues(model: OneClaim, top: int = 12) -> dict[str, list[str]]:
    """The words and bigrams that speak most for each label."""
    names = np.array(model.words.get_feature_names_out())
    return {
        label: [f"{names[i]} {weights[i]:.2f}" for i in np.argsort(-weights)[:top]]
        for label, weights in zip(model.model.classes_, model.model.coef_, strict=True)
    }


def artefacts(train: Sequence[Row], tests: Mapping[str, Sequence[Row]]) -> dict:
    """Scores of the three classifiers on each test set, per category too, and the strongest one-claim cues."""
    report: dict = {}
    one = OneClaim().fit(train)
    for name, model in (("one_claim", one), ("bag_difference", BagDifference().fit(train)), ("surface", Surface().fit(train))):
        for test, rows in tests.items():
            predicted = model.predict(rows)
            sides = 2 if len(predicted) == 2 * len(rows) else 1
            gold = [row.label for row in rows] * sides
            entry: dict = scores(gold, list(predicted))
            groups: dict[str, list[int]] = defaultdict(list)
            for i in range(len(gold)):
                groups[rows[i % len(rows)].category].append(i)
            entry["per_category"] = {c: round(float(np.mean([gold[i] == predicted[i] for i in groups[c]])), 3) for c in sorted(groups)}
            report.setdefault(name, {})[test] = entry
    report["cues"] = cues(one)
    return report


def main(train: Path, dev: Path, pairs: Path | None = None, json_out: Path | None = None) -> dict:
    """Reports the artefact classifiers.

    Args:
        train: generated train split, JSONL(.gz).
        dev: generated dev split.
        pairs: hand-written pairs to test on as well; never trained on.
        json_out: where the whole report is written.
    """
    tests = {"generated dev": read_rows(dev)} | ({pairs.stem: read_rows(pairs)} if pairs else {})
    report = artefacts(read_rows(train), tests)
    table = Table("classifier", "test set", "accuracy", "macro-F1", "per category")
    for name in ("one_claim", "bag_difference", "surface"):
        for test, entry in report[name].items():
            detail = "  ".join(f"{c} {v:.2f}" for c, v in entry["per_category"].items())
            table.add_row(name, test, f"{entry['accuracy']:.3f}", f"{entry['macro_f1']:.3f}", detail)
    console = Console(width=200)
    console.print(table)
    for label, words in report["cues"].items():
        console.print(f"one claim, for {label}: {', '.join(words)}")
    if json_out:
        json_out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


if __name__ == "__main__":
    auto_cli(main, as_positional=False)
