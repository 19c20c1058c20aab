"""The conflict generator: labels follow from what is said, a typed change changes one thing, no single claim gives the label away."""

import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.train.conftest import EMPTY
from train.data.conflicts.check import OneClaim, Row, read_rows, surface
from train.data.conflicts.engine import (
    LABELS,
    PatternError,
    Plan,
    Scene,
    draw_triples,
    expand,
    fill,
    is_held_out,
    overlap,
    render,
    sentence,
)
from train.data.conflicts.families import draw_scene
from train.data.conflicts.generate import GenerationError, Recipe, category_pairs, generate, pairs
from train.data.conflicts.names import Names
from train.data.conflicts.noise import americanise, disturb


def test_pattern_language():
    assert expand("a [b|b] c", Random(0)) == "a b c"
    assert {expand("[x|[y|z]]", Random(seed)) for seed in range(40)} == {"x", "y", "z"}
    assert fill("{e} met {f}", {"e": "Ada", "f": lambda rng: "Ben"}, Random(0)) == "Ada met Ben"
    assert fill("{d} now", {"d": "{e} ran", "e": "Ada"}, Random(0)) == "Ada ran now"
    with pytest.raises(PatternError, match=r"needs field 'g'.*\['e'\]"):
        fill("{g} slept", {"e": "Ada"}, Random(0))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("a engineer came to town", "An engineer came to town."),
        ("a university opened", "A university opened."),
        ("Silas's boat , which sank ,", "Silas' boat, which sank."),
        ("the head of the the river Ouk", "The head of the river Ouk."),
        ("was it open?", "Was it open?"),
    ],
)
def test_sentence(raw: str, said: str):
    assert sentence(raw) == said


def test_overlap_by_hand():
    assert overlap("The cat sat.", "the cat ran") == pytest.approx(2 / 4)


def _toy() -> Scene:
    scene = Scene("toy", "toy")
    for key, place in (("here", "Arl"), ("there", "Bex"), ("elsewhere", "Cod")):
        scene.add(key, ["the old museum stands in {p}", "{p} is where the old museum stands", "you find the old museum in {p}"], p=place)
    scene.add_partner("part", ["the old museum stands in the port of {p}"], p="Arl")
    scene.contradict(("here", "there"))
    scene.support(("here", "part"))
    scene.undecided(("here", "elsewhere"))
    return scene


def test_relation_table():
    scene = _toy()
    assert scene.label("here", "here") == "support"
    assert scene.label("there", "here") == "contradict"
    assert scene.label("part", "here") == "support"
    assert scene.label("here", "elsewhere") is None
    assert scene.label("there", "elsewhere") == "neutral"
    assert scene.partners("here", "neutral") == []
    with pytest.raises(KeyError, match="no proposition 'nowhere'"):
        scene.contradict(("here", "nowhere"))


def test_triples_follow_the_table():
    scene = _toy()
    scene.add("other", ["the new library stands in {p}", "{p} is where the new library stands"], p="Bex")
    found = Counter()
    for seed in range(60):
        for anchor, partners in draw_triples(scene, Random(seed), "dev", Plan(anchors=4, joined=0.0)):
            assert set(partners) == set(LABELS)
            for label, claim in partners.items():
                assert scene.label(anchor.key, claim.key) == label
                assert claim.text.lower() != anchor.text.lower()
            found[anchor.key] += 1
    assert set(found) == {"here", "there"}  # the others lack a label, 'part' is a partner only


def test_joined_statement_keeps_the_label():
    scene = Scene("toy", "toy")
    for key, text in (
        ("open", "the mill of Arl is open today"),
        ("shut", "the mill of Arl is shut today"),
        ("rain", "rain falls on the town of Arl"),
    ):
        scene.add(key, [text, text + " once more"])
    scene.contradict(("open", "shut"))
    joined = 0
    for seed in range(50):
        for anchor, partners in draw_triples(scene, Random(seed), "dev", Plan(joined=1.0)):
            assert anchor.key in ("open", "shut")
            for label in ("support", "contradict"):
                assert ("shut" if anchor.key == "open" else "open") not in partners["support"].text
                joined += "rain" in partners[label].text
    assert joined > 20


def test_held_out_patterns_never_reach_train():
    patterns = [f"number {i} of the many patterns here" for i in range(1000)]
    held = {p for p in patterns if is_held_out(p)}
    assert 150 <= len(held) <= 250
    scene = Scene("toy", "toy")
    scene.add("many", patterns)
    drawn = {split: {render(scene.propositions["many"], Random(s), split).pattern for s in range(400)} for split in ("train", "dev")}
    assert not drawn["train"] & held
    assert drawn["dev"] & held


def test_balance_and_counts(splits):
    for split, per in (("train", 12), ("dev", 4)):
        counts = Counter((pair.category, pair.label) for pair in splits[split])
        assert set(counts.values()) == {per}
        assert len(counts) == 36


def test_every_anchor_has_one_pair_of_each_label(splits):
    groups = defaultdict(list)
    for pair in splits["train"]:
        groups[pair.category, pair.anchor].append(pair.label)
    assert all(sorted(labels) == sorted(LABELS) for labels in groups.values())


def test_train_and_dev_share_no_anchor_and_no_world(splits):
    anchors = {split: {pair.anchor for pair in rows} for split, rows in splits.items()}
    assert not anchors["train"] & anchors["dev"]
    stems = {split: {Names(Random(seed), split).stem() for seed in range(300)} for split in ("train", "dev")}
    assert not stems["train"] & stems["dev"]


def test_order_of_the_claims_says_nothing(splits):
    plain_rows = pairs(Recipe(seed=3, train_pairs=12 * 3 * 30, dev_pairs=0, noise=0.0), "train", EMPTY)
    for label in LABELS:
        rows = [pair for pair in plain_rows if pair.label == label]
        first = sum(americanise(pair.first) == americanise(pair.anchor) for pair in rows) / len(rows)
        assert 0.4 < first < 0.6


def test_same_seed_same_bytes(tmp_path: Path):
    recipe = Recipe(seed=5, train_pairs=36 * 3, dev_pairs=36)
    for name in ("a", "b"):
        generate(recipe, tmp_path / name)
    generate(Recipe(seed=6, train_pairs=36 * 3, dev_pairs=36), tmp_path / "c")
    for file in ("train.jsonl.gz", "dev.jsonl.gz", "report.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert (tmp_path / "a" / "train.jsonl.gz").read_bytes() != (tmp_path / "c" / "train.jsonl.gz").read_bytes()
    rows = [json.loads(line) for line in gzip.decompress((tmp_path / "a" / "train.jsonl.gz").read_bytes()).decode("utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == 108
    assert set(rows[0]) == {"id", "premise", "hypothesis", "label", "meta"}
    assert set(rows[0]["meta"]) == {"category", "anchor", "method"}
    assert not list((tmp_path / "a").glob("*.partial"))


def test_a_barren_category_is_an_error():
    seen: set[str] = set()

    class Everything(set):
        def __contains__(self, _: object) -> bool:
            return True

    assert not seen
    with pytest.raises(GenerationError, match=r"'dates_years'.*lower the quota"):
        list(category_pairs("dates_years", 5, Recipe(), "train", EMPTY, Everything()))


def test_unknown_category():
    with pytest.raises(KeyError, match="colours"):
        draw_scene("colours", Names(Random(0), "train"), Random(0))


@given(st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_noise_keeps_words_and_numbers(seed: int):
    text = "On 14 June 1904, the harbour theatre opened its doors to 1,200 guests."
    noisy = disturb(text, Random(seed), 1.0)
    stripped = re.sub(r"\[\d+\]", "", noisy)
    assert re.findall(r"\d+(?:,\d+)?", stripped) == ["14", "1904", "1,200"] or re.findall(r"\d+", stripped) == ["14", "1904", "1", "200"]
    assert americanise(re.sub(r"\W+", " ", stripped).lower()).split() == americanise(re.sub(r"\W+", " ", text).lower()).split()


def test_noise_share():
    text = "The harbour theatre opened its doors."
    changed = sum(americanise(disturb(text, Random(seed), 0.15)) != americanise(text) for seed in range(2000))
    assert 0.12 < changed / 2000 < 0.18
    assert americanise("the theatre by the harbour, in 12 metres") == "the theater by the harbor, in 12 meters"


def test_one_claim_classifier_finds_a_planted_cue():
    rng = Random(0)
    rows = [
        Row(f"the mill of {rng.random()} stands", f"{word} the mill fell", label, "x", "")
        for label, word in zip(LABELS, ("indeed", "never", "elsewhere"), strict=True)
        for _ in range(60)
    ]
    predicted = OneClaim().fit(rows).predict(rows)
    second = predicted[len(rows) :]
    assert sum(row.label == guess for row, guess in zip(rows, second, strict=True)) == len(rows)


def test_surface_features_by_hand():
    row = Row("The mill has 12 rooms.", "The mill does not have 14 rooms.", "contradict", "", "")
    features = surface(row)
    assert features[0] == pytest.approx(3 / 9)  # the, mill, rooms of nine words
    assert features[4:7] == [1, 1, 1.0]
    assert features[7:10] == [0, 2, 1.0]


def test_check_reads_both_formats_and_names_what_is_missing(tmp_path: Path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"claim_a": "a", "claim_b": "b", "label": "neutral", "category": "c"}) + "\n", encoding="utf-8")
    assert read_rows(path) == [Row("a", "b", "neutral", "c", "")]
    path.write_text(json.dumps({"premise": "a", "label": "neutral"}) + "\n", encoding="utf-8")
    with pytest.raises(KeyError, match=r"pairs\.jsonl, line 1: no column 'hypothesis'"):
        read_rows(path)


@pytest.mark.slow
def test_one_claim_alone_is_near_chance():
    rows = {
        split: [
            Row(p.first, p.second, p.label, p.category, p.anchor)
            for p in pairs(Recipe(seed=1, train_pairs=21_600, dev_pairs=3_600), split, EMPTY)
        ]
        for split in ("train", "dev")
    }
    predicted = OneClaim().fit(rows["train"]).predict(rows["dev"])
    gold = [row.label for row in rows["dev"]] * 2
    assert sum(a == b for a, b in zip(gold, predicted, strict=True)) / len(gold) <= 0.40
