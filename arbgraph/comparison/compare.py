"""What differs between two claims, found by rules and said in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from arbgraph.comparison.facts import ClaimFacts, Name, describe
from arbgraph.comparison.lexicon import ORDINALS, antonyms, are_synonyms, common_words, converses, enclosing_places, superlatives_oppose
from arbgraph.comparison.numbers import Quantity
from arbgraph.comparison.times import TimeSpan

_EXCLUSIVE_QUANTIFIERS = [set(pair.split("/")) for pair in ("all/none", "all/few", "most/few", "most/none", "some/none")]
_PREFIXES = ("un", "in", "im", "ir", "il", "non", "non-", "dis", "de", "anti", "anti-")


@dataclass(frozen=True)
class Comparison:
    """What differs and what agrees between claims a and b. Symmetric in a and b, except for `a_in_b` and `b_in_a`.

    years_differ: each side names a year that the other neither names nor covers (a decade covers its years).
    dates_differ: the same for days and months. times_disjoint: no time of one side can be a time of the other.
    quantities_conflict: of one dimension, or of one counted noun, each side has a value that overlaps none of the other's.
    quantities_agree: at least one pair of comparable values overlaps. numbers_one_sided: only one side has quantities.
    entities_differ: each side has a name that the other lacks and that is no part, abbreviation or surrounding place of one there.
    places_disjoint: two of those names are known places, neither inside the other.
    negation_differs: an odd number of negators on one side only. polarity_differs: the same, counting words such as "refused".
    antonym_pair, converse_pair: the first such pair in alphabetical order, one word on each side, or None.
    quantifier_differs: all against none, most against few and the like, or first against last.
    roles_swapped: the same content words, with two participants in exchanged order and no passive or converse that explains it.
    overlap: Jaccard of content stems, in [0, 1]. a_in_b, b_in_a: share of a's content stems found in b, and the reverse.
    reasons: each difference in plain words, for people.
    """

    years_differ: bool
    dates_differ: bool
    times_disjoint: bool
    quantities_conflict: bool
    quantities_agree: bool
    numbers_one_sided: bool
    entities_differ: bool
    entities_shared: int
    places_disjoint: bool
    negation_differs: bool
    polarity_differs: bool
    antonym_pair: tuple[str, str] | None
    converse_pair: tuple[str, str] | None
    quantifier_differs: bool
    roles_swapped: bool
    order_inversion: float
    overlap: float
    a_in_b: float
    b_in_a: float
    reasons: tuple[str, ...]


def _allows(span: TimeSpan, year: int, others: list[TimeSpan]) -> bool:
    """Whether a time of the other side leaves room for a year: a longer period around it, or a bound on either side that holds."""
    if span.year is None and math.isfinite(span.point[0]):
        return span.point[0] <= (year - 0.5) * 365.2425 <= span.point[1]
    return any((span.is_open or other.is_open) and span.compatible(other, open_ended=True) for other in others)


def lone_years(a: ClaimFacts, b: ClaimFacts) -> list[int]:
    """The years that a names and b neither names nor leaves room for, in order.

    A decade leaves room for its years, and "before 2017" for 2016.
    """
    named = {year: [span for span in a.times if span.year == year] for year in a.years - b.years}
    return sorted(year for year, spans in named.items() if not any(_allows(span, year, spans) for span in b.times))


def lone_dates(a: ClaimFacts, b: ClaimFacts) -> list[TimeSpan]:
    """The days and months in a that can be none of the times in b."""
    return [span for span in a.times if span.month is not None and not any(span.compatible(other) for other in b.times)]


def comparable(x: Quantity, y: Quantity) -> bool:
    """Whether two quantities can be set against each other: one dimension and, for counts, a noun in common."""
    if x.dimension != y.dimension:
        return False
    if x.dimension in ("count", "ordinal"):
        return bool(set(x.noun) & set(y.noun)) or x.noun == y.noun == ()
    return x.dimension != "percent" or not x.noun or not y.noun or bool(set(x.noun) & set(y.noun))


def _lone_quantities(a: ClaimFacts, b: ClaimFacts) -> list[Quantity]:
    lone = []
    for x in a.quantities:
        rivals = [y for y in b.quantities if comparable(x, y)]
        if rivals and not any(x.agrees(y) for y in rivals):
            lone.append(x)
    return lone


def conflicting_quantities(a: ClaimFacts, b: ClaimFacts) -> list[tuple[Quantity, Quantity]]:
    """Comparable quantities of both sides, neither of which overlaps any comparable one of the other side."""
    lone_b = _lone_quantities(b, a)
    return [(x, y) for x in _lone_quantities(a, b) for y in lone_b if comparable(x, y)] if lone_b else []


def same_entity(x: Name, y: Name) -> bool:
    """Whether two names can mean one thing: equal or alias, one part of the other, the other's initials, or Matt and Matthew Bomer."""
    if x.usual == y.usual or x.stems <= y.stems or y.stems <= x.stems:
        return True
    if min(len(x.words), len(y.words)) > 1 and x.words[-1] == y.words[-1]:
        first, second = x.words[0].rstrip("."), y.words[0].rstrip(".")
        if first.startswith(second[:3]) or second.startswith(first[:3]):
            return True
    for short, long in ((x, y), (y, x)):
        letters = short.words[0].replace(".", "") if len(short.words) == 1 else ""
        if len(letters) > 1 and len(long.words) > 1 and letters in long.initials:
            return True
    return False


def entities_shared(a: ClaimFacts, b: ClaimFacts) -> int:
    """How many names the claims share: the smaller of the two sides' counts of names that the other side has too."""
    return min(sum(any(same_entity(n, m) for m in q.names) for n in p.names) for p, q in ((a, b), (b, a)))


def unmatched_names(a: ClaimFacts, b: ClaimFacts) -> list[Name]:
    """The names in a that nothing in b can stand for: no name, no expansion of an acronym, not its words in any case."""
    return [
        name
        for name in a.names
        if not any(same_entity(name, other) for other in b.names)
        and not all(word in b.words for word in name.words)
        and not _spelled_out(name, b)
    ]


def _spelled_out(name: Name, facts: ClaimFacts) -> bool:
    """Whether the name is an acronym whose letters start consecutive content words of the text (IRA, individual retirement account)."""
    letters = name.words[0].replace(".", "")
    if len(name.words) > 1 or len(letters) < 3 or not name.text.replace(".", "").isupper():
        return False
    return letters in "".join(word[0] for word in facts.stems)


def lone_names(a: ClaimFacts, b: ClaimFacts) -> list[Name]:
    """The unmatched names in a that lie in no unmatched place of b and hold none."""
    others = unmatched_names(b, a)
    return [name for name in unmatched_names(a, b) if not any(one_in_other(name.usual, other.usual) for other in others)]


def one_in_other(place: str, other: str) -> bool:
    """Whether one of two known places lies inside the other."""
    return other in enclosing_places(place) or place in enclosing_places(other)


def is_place(name: str) -> bool:
    """Whether the name is a place of the gazetteer."""
    return bool(enclosing_places(name))


def opposed(a: ClaimFacts, b: ClaimFacts) -> tuple[tuple[str, str] | None, tuple[str, str] | None]:
    """The first antonym pair and the first converse pair, as written, the first word only in a and the second only in b.

    Ordinals are left to the comparison of quantities.
    """
    only_b = b.content - a.content
    antonym = converse = None
    for word, form in sorted(zip(a.stems, a.forms, strict=True)):
        if word in b.content or form in ORDINALS:
            continue
        if antonym is None:
            others = antonyms().get(word, frozenset()) & only_b or _prefixed(word, only_b)
            antonym = (form, _form(b, min(others))) if others else None
        if converse is None and (others := converses().get(word, frozenset()) & only_b):
            converse = (form, _form(b, min(others)))
    return antonym, converse


def _form(facts: ClaimFacts, word: str) -> str:
    return facts.forms[facts.stems.index(word)]


def _prefixed(word: str, others: frozenset[str]) -> set[str]:
    """Words that differ from this one by a negative prefix alone (authorised, unauthorised)."""
    known = common_words()
    longer = {prefix + word for prefix in _PREFIXES} if len(word) > 3 and word in known else set()
    shorter = {word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix)}
    return longer & others | {other for other in shorter & others if len(other) > 3 and other in known}


def exchanged_words(a: ClaimFacts, b: ClaimFacts) -> tuple[list[str], list[str]]:
    """The content stems of each side that the other side has neither as such nor as a synonym, sorted."""
    only_a, only_b = sorted(a.content - b.content), sorted(b.content - a.content)
    return (
        [word for word in only_a if not any(are_synonyms(word, other) for other in only_b)],
        [word for word in only_b if not any(are_synonyms(word, other) for other in only_a)],
    )


def order_inversion(a: ClaimFacts, b: ClaimFacts) -> float:
    """Share of pairs of shared content stems that stand in the opposite order, in [0, 1]; each stem at its first place."""
    place = {word: i for i, word in reversed(list(enumerate(b.stems)))}
    shared = [place[word] for word in dict.fromkeys(a.stems) if word in place]
    pairs = len(shared) * (len(shared) - 1) // 2
    if not pairs:
        return 0.0
    return sum(shared[i] > shared[j] for i in range(len(shared)) for j in range(i + 1, len(shared))) / pairs


def participants_reversed(a: ClaimFacts, b: ClaimFacts) -> tuple[str, str] | None:
    """Two names that both claims share and that stand in opposite order, or None."""
    shared = [(x, y) for x in a.names for y in b.names if x.usual == y.usual or x.words == y.words]
    for i, (x1, y1) in enumerate(shared):
        for x2, y2 in shared[i + 1 :]:
            if x1.usual != x2.usual and (x1.position - x2.position) * (y1.position - y2.position) < 0:
                return x1.text, x2.text
    return None


def quantifiers_exclude(a: ClaimFacts, b: ClaimFacts) -> bool:
    """Whether one side's quantifiers are incompatible with the other's (all against none, most against few)."""
    only_a, only_b = a.quantifiers - b.quantifiers, b.quantifiers - a.quantifiers
    return any({x, y} in _EXCLUSIVE_QUANTIFIERS for x in only_a for y in only_b)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@lru_cache(maxsize=1 << 16)
def compare(a: str, b: str) -> Comparison:
    """Compares two claims; see `Comparison` for what each field means."""
    x, y = describe(a), describe(b)
    reasons: list[str] = []
    years, dates, times_disjoint = _compare_times(x, y, reasons)
    conflict, agree = _compare_quantities(x, y, reasons)
    lone_x, lone_y = lone_names(x, y), lone_names(y, x)
    places_disjoint = any(is_place(n.usual) for n in lone_x) and any(is_place(n.usual) for n in lone_y)
    if lone_x and lone_y:
        reasons.append(f"names differ: {_listed(lone_x)} against {_listed(lone_y)}")
    negation = x.negations % 2 != y.negations % 2
    if negation:
        reasons.append(f"only the {'first' if x.negations % 2 else 'second'} is negated")
    elif x.negative != y.negative:
        reasons.append("only one of them denies or refuses")
    antonym, converse = opposed(x, y)
    if antonym:
        reasons.append(f"opposite words: {antonym[0]} against {antonym[1]}")
    if converse:
        reasons.append(f"opposite roles: {converse[0]} against {converse[1]}")
    quantifier = quantifiers_exclude(x, y)
    superlative = superlatives_oppose(x.superlatives, y.superlatives)
    if quantifier or superlative:
        left, right = (x.quantifiers, y.quantifiers) if quantifier else (x.superlatives, y.superlatives)
        reasons.append(f"quantifiers differ: {', '.join(sorted(left))} against {', '.join(sorted(right))}")
    shared, union = len(x.content & y.content), len(x.content | y.content)
    swapped = _roles_swapped(x, y, _share(shared, union), converse is not None, reasons)
    return Comparison(
        years_differ=years,
        dates_differ=dates,
        times_disjoint=times_disjoint,
        quantities_conflict=conflict,
        quantities_agree=agree,
        numbers_one_sided=bool(x.quantities) != bool(y.quantities),
        entities_differ=bool(lone_x and lone_y),
        entities_shared=entities_shared(x, y),
        places_disjoint=places_disjoint,
        negation_differs=negation,
        polarity_differs=x.negative != y.negative,
        antonym_pair=antonym,
        converse_pair=converse,
        quantifier_differs=quantifier or superlative,
        roles_swapped=swapped,
        order_inversion=order_inversion(x, y),
        overlap=_share(shared, union),
        a_in_b=_share(shared, len(x.content)),
        b_in_a=_share(shared, len(y.content)),
        reasons=tuple(reasons),
    )


def _listed(names: Sequence[Name]) -> str:
    return " and ".join(dict.fromkeys(name.text for name in names))


def _compare_times(x: ClaimFacts, y: ClaimFacts, reasons: list[str]) -> tuple[bool, bool, bool]:
    years_x, years_y = lone_years(x, y), lone_years(y, x)
    years = bool(years_x and years_y)
    if years:
        reasons.append(f"years differ: {', '.join(map(str, years_x))} against {', '.join(map(str, years_y))}")
    dates_x, dates_y = lone_dates(x, y), lone_dates(y, x)
    dates = bool(dates_x and dates_y)
    if dates and not years:
        reasons.append(f"dates differ: {dates_x[0].text} against {dates_y[0].text}")
    disjoint = bool(x.times and y.times) and not any(s.compatible(t, open_ended=True) for s in x.times for t in y.times)
    if disjoint and not years and not dates:
        reasons.append(f"times differ: {x.times[0].text} against {y.times[0].text}")
    return years, dates, disjoint


def _compare_quantities(x: ClaimFacts, y: ClaimFacts, reasons: list[str]) -> tuple[bool, bool]:
    pairs = conflicting_quantities(x, y)
    if pairs:
        reasons.append(f"numbers differ: {pairs[0][0].text} against {pairs[0][1].text}")
    agree = any(p.dimension != "score" and comparable(p, q) and p.agrees(q) for p in x.quantities for q in y.quantities)
    return bool(pairs), agree


def _roles_swapped(x: ClaimFacts, y: ClaimFacts, overlap: float, converse: bool, reasons: list[str]) -> bool:
    """Participants exchanged with the sentence otherwise equal. A passive or a converse verb restores the meaning, both undo it."""
    pair = participants_reversed(x, y) if overlap >= 0.7 else None
    if pair is None or (x.passive != y.passive) != converse:
        return False
    reasons.append(f"roles exchanged: {pair[0]} and {pair[1]}")
    return True
