"""Checking claims against texts: matrices by hand with a judge that compares words, the store, the two judges, and claims of answers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from arbgraph.extraction.syntactic import SyntacticExtractor
from arbgraph.io import InputError
from arbgraph.schema import Failed
from eval.checkers import ChatChecker, VerifierChecker, windows_of
from eval.checking import Checked, Judgement, Matrix, Response, check, check_stored, claims_of, read_checked
from eval.metrics.table import Scored, score
from tests.chat.support import ScriptedChat, user_turn


class WordChecker:
    """A text supports a claim when it holds all its words, contradicts it when it holds "not" besides; fails on the claim "fail"."""

    def __init__(self, name="words"):
        self.name, self.asked = name, []

    def identity(self):
        return {"name": self.name}

    def judge(self, requests):
        self.asked += requests
        return [[self._one(set(text.split()), claim) for claim in claims] for text, claims in requests]

    def _one(self, words, claim):
        if claim == "fail":
            return Judgement(None)
        if not set(claim.split()) <= words:
            return Judgement("neutral", (0.1, 0.1, 0.8))
        return Judgement("contradict", (0.1, 0.8, 0.1)) if "not" in words else Judgement("support", (0.8, 0.1, 0.1))


ONE = Response(
    "q1",
    "which?",
    text="a b",
    reference="b c",
    chunks=("a b c", "not c"),
    evidence=("a",),
    facts=("a", "c", "b"),
    response_claims=("a", "b"),
    gold_claims=("b", "c"),
)


def test_matrices_by_hand():
    (found,) = check([ONE], WordChecker())
    labels = {name: matrix.labels for name, matrix in found.matrices.items()}
    assert labels == {
        "answer2response": (("neutral",), ("support",)),
        "response2answer": (("support",), ("neutral",)),
        "retrieved2response": (("support", "neutral"), ("support", "neutral")),
        "retrieved2answer": (("support", "neutral"), ("support", "contradict")),
        "evidence2response": (("support",), ("neutral",)),
        "response2facts": (("support",), ("neutral",), ("support",)),
    }
    entailment = found.entailment()
    assert entailment is not None
    assert tuple(entailment.answer2response) == (False, True)
    assert found.facts() == ("consistent", "missing", "consistent")
    assert found.claims() == ("supported", "supported")
    probabilities = found.matrices["retrieved2answer"].probabilities
    assert probabilities is not None
    assert probabilities[1][1] == (0.1, 0.8, 0.1)
    scores = score([Scored("q1", text="a b", tokens=2, **found.fields())])
    assert scores.means["ragchecker_precision"].value == 0.5
    assert scores.means["fact_recall"].value == pytest.approx(2 / 3)
    assert scores.means["faithfulness_to_evidence"].value == 0.5


def test_equal_requests_are_judged_once():
    checker = WordChecker()
    check([ONE, replace(ONE, id="q2")], checker)
    assert len(checker.asked) == len(set(checker.asked))
    assert len(checker.asked) == 8  # two texts by two lists of claims, the reference, the answer twice, the evidence


def test_order_and_batch_change_nothing():
    other = replace(ONE, id="q2", text="c", response_claims=("c",))
    together = check([ONE, other], WordChecker())
    assert check([other, ONE], WordChecker())[::-1] == together
    assert [check([one], WordChecker())[0] for one in (ONE, other)] == together


def test_an_empty_answer_is_not_asked_about():
    empty = Response("q", "which?", text=" ", reference="", chunks=("", "a"), gold_claims=("a",), response_claims=())
    checker = WordChecker()
    (found,) = check([empty], checker)
    assert checker.asked == [("a", ("a",))]
    assert found.matrices["retrieved2answer"].labels == (("neutral", "support"),)
    assert found.matrices["response2answer"].labels == (("neutral",),)
    values = score([Scored("q", text=" ", **found.fields())])
    assert values.means["ragchecker_claim_recall"].value == 1
    assert values.means["ragchecker_recall"].value == 0
    assert values.means["ragchecker_recall_answered"].value is None


def test_a_failure_is_no_label():
    (found,) = check([replace(ONE, response_claims=("a", "fail"), facts=())], WordChecker())
    assert found.failed == 4  # by the reference, two chunks and the evidence
    assert found.fields() == {"entailment": None, "facts": None, "claims": None}
    assert dict(score([Scored("q", **found.fields())], ["ragchecker_f1"]).means["ragchecker_f1"].missing) == {"entailment": 1}


def test_claims_are_wanted():
    with pytest.raises(ValueError, match="give an extractor"):
        check([Response("q", "which?", "a b")], WordChecker())


def test_unknown_labels_are_refused():
    with pytest.raises(ValueError, match="unknown label 'maybe'"):
        Matrix.from_dict({"labels": [["maybe"]]})


# The store


def test_stored_judgements_are_not_asked_for_again(tmp_path):
    path, checker = tmp_path / "deep" / "checked.jsonl", WordChecker()
    other = replace(ONE, id="q2", text="c b")
    first = check_stored([ONE], checker, path)
    asked = len(checker.asked)
    both = check_stored([ONE, other, replace(ONE, id="q3")], checker, path)
    assert both[0] == first[0] == check([ONE], WordChecker())[0]
    assert both[2] == replace(first[0], id="q3")
    assert len(checker.asked) == 2 * asked
    assert len(read_checked(path)) == 2
    # Without a judge.
    assert check_stored([other, ONE], None, path) == [both[1], both[0]]
    with pytest.raises(InputError, match="1 of 2 responses are not in it, the first is 'new'"):
        check_stored([ONE, replace(ONE, id="new", query="other?")], None, path)


def test_a_torn_last_line_is_written_again(tmp_path):
    path = tmp_path / "checked.jsonl"
    other = replace(ONE, id="q2", text="c b")
    whole = check_stored([ONE, other], WordChecker(), path, batch=1)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(lines[0] + lines[1][:50], encoding="utf-8")
    checker = WordChecker()
    assert check_stored([ONE, other], checker, path) == whole
    assert checker.asked
    assert path.read_text(encoding="utf-8") == "".join(lines)
    path.write_text(lines[0][:50] + "\n" + lines[1], encoding="utf-8")
    with pytest.raises(InputError, match="line 1: not a checked response"):
        check_stored([ONE], None, path)


def test_judges_are_kept_apart(tmp_path):
    path = tmp_path / "checked.jsonl"
    check_stored([ONE], WordChecker("one"), path)
    checker = WordChecker("two")
    check_stored([ONE], checker, path)
    assert checker.asked
    with pytest.raises(InputError, match="2 judges"):
        check_stored([ONE], None, path)
    assert check_stored([ONE], WordChecker("one"), path)[0].judge != check_stored([ONE], checker, path)[0].judge


def test_what_the_judge_failed_on_is_asked_again(tmp_path):
    class Mended(WordChecker):
        def _one(self, words, claim):
            return super()._one(words, "a" if claim == "fail" else claim)

    path, response = tmp_path / "checked.jsonl", replace(ONE, response_claims=("a", "fail"))
    (failed,) = check_stored([response], WordChecker(), path)
    assert failed.failed
    # Without a judge the failure stands.
    assert check_stored([response], None, path) == [failed]
    (mended,) = check_stored([response], Mended(), path)
    assert mended.failed == 0
    assert check_stored([response], None, path) == [mended]


def test_round_trip(tmp_path):
    path = tmp_path / "checked.jsonl"
    (written,) = check_stored([ONE], WordChecker(), path)
    assert Checked.from_dict(json.loads(path.read_text(encoding="utf-8"))) == written


# The judges


class WordVerifier:
    """Stands for a relation verifier: P(support) is the share of the claim's words that the window holds."""

    def __init__(self):
        self.pairs = []

    def describe(self):
        return {"name": "words"}

    def directed(self, pairs):
        self.pairs += pairs
        rows = []
        for window, claim in pairs:
            share = len(set(claim.split()) & set(window.lower().replace(".", "").split())) / len(claim.split())
            rows.append([share * 0.9, 0.8 if "not" in window else 0.05, 0.95 - share * 0.9])
        return torch.tensor(rows)


TEXT = "One sits here. Two goes there. Three is not red. Four stands still. Five runs."


def test_windows_are_runs_of_sentences():
    assert [text for text, _ in windows_of(TEXT, 3)] == [
        "One sits here. Two goes there. Three is not red.",
        "Two goes there. Three is not red. Four stands still.",
        "Three is not red. Four stands still. Five runs.",
    ]
    assert [text for text, _ in windows_of("One sits here.", 3)] == ["One sits here."]
    assert windows_of("  ", 3) == []


def test_the_best_window_decides():
    verifier = WordVerifier()
    checker = VerifierChecker(verifier, sentences=1, windows=2)  # type: ignore[arg-type]
    judged = checker.judge([(TEXT, ["two goes there", "three is red", "six flies"]), ("", ["x"])])
    assert [one.label for one in judged[0]] == ["support", "support", "neutral"]
    assert judged[0][0].probabilities == pytest.approx((0.9, 0.05, 0.05))
    # Two windows per claim, chosen by shared words and else by place.
    assert [window for window, claim in verifier.pairs if claim == "three is red"] == ["One sits here.", "Three is not red."]
    assert judged[1] == [Judgement("neutral")]
    # Half the words, and a negation: contradiction is the most probable label of the window.
    assert checker.judge([("Three is not red.", ["three flies"])])[0][0].label == "contradict"
    alone = [checker.judge([(TEXT, [claim])])[0][0] for claim in ("two goes there", "three is red", "six flies")]
    assert alone == judged[0]
    with pytest.raises(ValueError, match="at least 1"):
        VerifierChecker(verifier, windows=0)  # type: ignore[arg-type]


def test_a_chat_model_judges_a_few_claims_at_a_time():
    def script(request):
        turn = user_turn(request.messages)
        count = turn.count("</claim-")
        verdicts = ["supported", "partial", "contradicted", "missing"]
        return {"verdicts": [{"number": n + 1, "verdict": verdicts[n]} for n in range(count)]}

    chat = ScriptedChat(script)
    judged = ChatChecker(chat, claims=4).judge([("text", list("abcdef")), ("other", ["g"])])
    assert [[one.label for one in row] for row in judged] == [
        ["support", "partial", "contradict", "neutral", "support", "partial"],
        ["support"],
    ]
    assert len(chat.asked) == 3


def test_what_a_chat_model_leaves_out_has_no_label():
    chat = ScriptedChat(
        lambda request: {
            "verdicts": [
                {"number": 1, "verdict": "supported"},
                {"number": 3, "verdict": "missing"},
                {"number": 3, "verdict": "supported"},
            ]
        }
    )
    checker = ChatChecker(chat)
    assert [one.label for one in checker.judge([("text", ["a", "b", "c"])])[0]] == ["support", None, None]
    assert checker.failures[0].reason == "2 of 3 claims got no verdict, or two"
    broken = ChatChecker(ScriptedChat(lambda request: Failed(stage="checking", reason="server gone")))
    assert [one.label for one in broken.judge([("text", ["a"])])[0]] == [None]
    assert len(broken.failures) == 1


def test_partial_support_is_half_a_fact_and_no_entailment():
    matrix = Matrix.of([[Judgement("partial"), Judgement("support")]], 2)
    assert matrix.entailed == ((False,), (True,))
    found = Checked("q", "c", "j", (), (), {"response2facts": matrix})
    assert found.facts() == ("partial", "consistent")


# Claims of answers


@pytest.fixture(scope="module")
def extractor():
    return SyntacticExtractor()


def test_claims_of_answers(extractor):
    texts = [
        ("Where is it?", "Italy"),
        ("Who?", ""),
        (
            "Which rivers?",
            "The Nile flows through Egypt. Do you want more? Here they are:\n- **Danube delta reserve of the Romanian Black Sea coast**",
        ),
        ("Which river?", "The Nile flows through Egypt. The Nile flows through Egypt."),
    ]
    found = claims_of(texts, extractor)
    assert found[0] == ("Where is it? Italy",)
    assert found[1] == ()
    assert found[2][0] == "The Nile flows through Egypt."
    assert found[2][-1] == "Danube delta reserve of the Romanian Black Sea coast"
    assert not any("want more" in claim for claim in found[2])
    assert found[3] == ("The Nile flows through Egypt.",)
    # Alone and in a batch.
    assert [claims_of([one], extractor)[0] for one in texts] == found


def test_check_extracts_what_is_not_given(extractor):
    response = Response("q", "Where does the Nile flow?", "The Nile flows through Egypt.", "The Nile flows through Egypt.")
    (found,) = check([response], WordChecker(), extractor)
    assert found.response_claims == found.gold_claims == ("The Nile flows through Egypt.",)
    assert found.content == response.content
