"""Copies are one source; independent documents are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbgraph.independence import claim_sources, copy_agreement, is_copied_quote, paraphrases, source_groups
from arbgraph.schema import Document, Mention

RUMOUR = "The whole village of Ashby was evacuated after the spill. Hundreds slept in a sports hall while a cloud moved east."
TEXTS = {
    "blog": f"Read this, it is terrible! {RUMOUR} Send us your pictures and win a weekend for two in a spa with dinner and a swim.",
    "news": f"{RUMOUR} This text was put together by a machine from posts. Do you want more of it? Then switch on the alerts below.",
    "fire": """Incident log. At six a tanker lay on its side, leaking acid. The road was closed. People in Ashby were told to stay
        indoors and shut their windows. Nobody had to leave; the all clear came at one.""",
    "paper": """It smelled of salad in Ashby on Tuesday, yet no one had to leave home. Drivers who could not go on were given soup
        in the school hall. The driver of the tanker broke a wrist and the road is open again.""",
}


def documents(*names: str) -> list[Document]:
    return [Document(id=name, text=TEXTS[name]) for name in names]


def test_a_copied_passage_makes_one_source():
    groups = dict(zip(TEXTS, source_groups(documents(*TEXTS), 0.2), strict=True))
    assert groups["blog"] == groups["news"]
    assert len({groups["blog"], groups["fire"], groups["paper"]}) == 3
    assert sorted(set(groups.values())) == [0, 1, 2]


def test_independent_reports_on_one_event_stay_apart():
    assert len(set(source_groups(documents("fire", "paper", "blog"), 0.2))) == 3


@settings(max_examples=24, deadline=None)
@given(st.permutations(list(TEXTS)))
def test_numbers_do_not_depend_on_order(names):
    expected = dict(zip(TEXTS, source_groups(documents(*TEXTS), 0.2), strict=True))
    assert dict(zip(names, source_groups(documents(*names), 0.2), strict=True)) == expected


def test_numbers_do_not_depend_on_ids():
    renamed = [Document(id=f"z{9 - i}", text=text) for i, text in enumerate(TEXTS.values())]
    assert source_groups(renamed, 0.2) == source_groups(documents(*TEXTS), 0.2)


def test_case_and_punctuation_do_not_hide_a_copy():
    shouted = Document(id="shout", text=RUMOUR.upper().replace(".", " !!"))
    assert len(set(source_groups([Document(id="plain", text=RUMOUR), shouted], 0.9))) == 1


def test_an_altered_copy_is_still_a_copy():
    original = "The mill at Benton was built in 1921 by two brothers and grinds rye for the bakeries of the valley every autumn."
    altered = original.replace("1921", "1955")
    assert len(set(source_groups([Document(id="a", text=original), Document(id="b", text=altered)], 0.2))) == 1


def test_copying_is_transitive():
    first = "Red kites nest on the old water tower above the canal each spring since the mill was shut."
    second = "The harbour master keeps a list of all boats that were lost in the storm of that winter."
    bridge = f"{first} {second}"
    groups = source_groups([Document(id=str(i), text=text) for i, text in enumerate((first, bridge, second))], 0.2)
    assert groups == [0, 0, 0]
    assert len(set(source_groups([Document(id="a", text=first), Document(id="b", text=second)], 0.2))) == 2


def test_containment_counts_against_the_shorter_document():
    """20 words have 16 shingles; a copy of 12 words shares 8 of them: one half."""
    words = [f"word{i}" for i in range(20)]
    copied = words[:12] + [f"other{i}" for i in range(60)]
    pair = [Document(id="a", text=" ".join(words)), Document(id="b", text=" ".join(copied))]
    assert len(set(source_groups(pair, 0.5))) == 1
    assert len(set(source_groups(pair, 0.51))) == 2


def test_the_order_of_the_words_counts():
    words = RUMOUR.split()
    pair = [Document(id="a", text=RUMOUR), Document(id="b", text=" ".join(reversed(words)))]
    assert len(set(source_groups(pair, 0.05))) == 2


def test_a_short_common_phrase_is_no_copy():
    """Eight words in a row give four shingles, one too few, whatever their share."""
    phrase = "the capital and largest city of the region"
    pair = [Document(id="a", text=f"Orford is {phrase}."), Document(id="b", text=f"Lugano became {phrase} long ago.")]
    assert len(set(source_groups(pair, 0.01))) == 2


def test_function_words_and_page_furniture_are_no_text():
    menu = "Jump to content Main menu move to sidebar hide Navigation Main page Contents Read Edit View history Tools What links here"
    filler = "and so it was that there they all were as if it had not been for them that this was to be so"
    pair = [
        Document(id="a", text=f"{menu} {filler} Kestrels breed on cliffs."),
        Document(id="b", text=f"{menu} {filler} Sulphur melts early."),
    ]
    assert len(set(source_groups(pair, 0.05))) == 2


def test_documents_too_short_for_shingles_match_only_when_equal():
    texts = ["Ashby burns.", "ashby  BURNS", "Ashby floods.", "...", "?!"]
    groups = source_groups([Document(id=str(i), text=text) for i, text in enumerate(texts)], 0.2)
    assert groups[0] == groups[1]
    assert len(set(groups)) == 4


def test_above_one_only_equal_texts_join():
    pair = documents("blog", "news")
    assert len(set(source_groups(pair, 1.01))) == 2
    assert len(set(source_groups([*pair, Document(id="again", text=TEXTS["blog"])], 1.01))) == 2
    assert source_groups([], 0.2) == []


def test_many_copies_share_one_group():
    copies = [Document(id=str(i), text=f"{RUMOUR} Posted by user {i}.") for i in range(30)]
    assert set(source_groups([*copies, *documents("fire")], 0.2)) == {0, 1}


RETOLD = [
    Document(id="told", text="Ashby was evacuated after the spill on Tuesday: 300 slept in a sports hall."),
    Document(id="retold", text="After Tuesday's spill, 300 of Ashby were evacuated; they slept where sports are played."),
    Document(id="other", text="A tanker lay on its side near Ashby and leaked acid, said the fire brigade."),
]


@pytest.mark.parametrize(
    ("cosine", "shared_words", "pairs"),
    [(0.75, 0.5, [(0, 1)]), (0.75, 0.875, [(0, 1)]), (0.75, 0.88, []), (0.95, 0.5, []), (-1.0, 0.0, [(0, 1), (0, 2), (1, 2)])],
)
def test_a_retelling_is_near_in_meaning_and_keeps_the_words(cosine, shared_words, pairs):
    """Of the eight words ashby, evacuated, spill, tuesday, 300, slept, sports, hall of the first, the second has all but hall."""
    vectors = np.array([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]])
    assert paraphrases(RETOLD, vectors, cosine, shared_words) == pairs


def test_retellings_need_both_conditions_and_a_text_without_words_is_none():
    same = np.ones((3, 1))
    assert paraphrases(RETOLD, same, 0.9, 0.5) == [(0, 1)]
    assert paraphrases([RETOLD[0], Document(id="empty", text="... and the")], same[:2], 0.0, 0.0) == []
    assert paraphrases([], np.zeros((0, 4)), 0.5, 0.5) == []


def test_a_vector_is_missing():
    with pytest.raises(ValueError, match="2 vectors for 3 documents"):
        paraphrases(RETOLD, np.ones((2, 4)), 0.5, 0.5)


def test_pairs_that_are_one_source_in_other_words_join_their_copies():
    """The blog and the news are copies; the paper retells the blog, so all three are one source, in any order of the documents."""
    given = documents("blog", "news", "fire", "paper")
    assert len(set(source_groups(given, 0.2))) == 3
    groups = source_groups(given, 0.2, [(0, 3)])
    assert groups[0] == groups[1] == groups[3] != groups[2]
    assert source_groups(given[::-1], 0.2, [(0, 3)])[::-1] == groups


@pytest.mark.slow
def test_a_document_of_twenty_megabytes():
    body = " ".join(f"entry{i * 7919 % 1_000_003}" for i in range(1_700_000))
    assert len(body) > 20_000_000
    large = Document(id="large", text=body)
    part = Document(id="part", text=" ".join(body.split()[5000:5200]))
    groups = source_groups([large, part, *documents("fire")], 0.2)
    assert groups[0] == groups[1] != groups[2]


def mention(document: str, quote: str) -> Mention:
    return Mention(document_id=document, start=0, end=len(quote), quote=quote)


SENTENCE = "Officials said on Monday that the bridge at Ashby will stay shut until spring."


def test_copied_quotes_count_once():
    groups = {"a": 0, "b": 1, "c": 2, "d": 2}
    copied = [mention("b", SENTENCE), mention("a", SENTENCE.replace("Officials", "OFFICIALS"))]
    assert claim_sources(copied, groups) == [0]
    own_words = mention("c", "Until spring nobody will cross the Ashby bridge, the authorities let it be known.")
    assert claim_sources([*copied, own_words], groups) == [0, 2]
    assert claim_sources([own_words, mention("d", SENTENCE)], groups) == [2]
    assert claim_sources([], groups) == []


def test_short_quotes_may_agree_by_chance():
    assert claim_sources(
        [mention("a", "Paris is the capital of France."), mention("b", "Paris is the capital of France.")], {"a": 0, "b": 1}
    ) == [0, 1]


def test_quotes_are_near_verbatim_from_four_fifths():
    assert is_copied_quote(SENTENCE, SENTENCE.replace("said", "said,"))
    assert is_copied_quote(SENTENCE, f"{SENTENCE[:-1]} 2020.")
    assert not is_copied_quote(SENTENCE, SENTENCE.replace("Monday", "Tuesday").replace("stay", "remain"))
    assert not is_copied_quote(SENTENCE, f"{SENTENCE} Until then a ferry will carry those who live on the far side of the river.")


def test_a_mention_of_an_unknown_document_is_an_error():
    with pytest.raises(KeyError, match="ghost"):
        claim_sources([mention("ghost", SENTENCE)], {"a": 0})


def test_agreement_of_copies_is_the_share_that_states_the_claim():
    def mention(document):
        return Mention(document_id=document, start=0, end=1)

    groups = {"a": 0, "b": 0, "c": 0, "d": 1}
    copies = {0: 3, 1: 1}
    assert copy_agreement([mention("a")], groups, copies) == pytest.approx(1 / 3)
    assert copy_agreement([mention("a"), mention("a"), mention("b")], groups, copies) == pytest.approx(2 / 3)
    assert copy_agreement([mention("a"), mention("d")], groups, copies) == pytest.approx((1 / 3 + 1) / 2)
    assert copy_agreement([mention("d")], groups, copies) == 1
    assert copy_agreement([], groups, copies) == 1
