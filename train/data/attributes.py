"""Terse questions for the attributes of a passage's subject ("Where was X born?", "What is the population of X?"), found by pattern.

The wordings are those in which people and benchmarks ask for entities of one name. A pattern that meets nothing asks nothing; the answer
is always the matched text.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from arbgraph.schema import content_id
from train.data.cloze import Cloze, plain_title, stands_in

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = rf"(?:\d{{1,2}} (?:{MONTHS}),? \d{{4}}|(?:{MONTHS}) \d{{1,2}},? \d{{4}}|(?:{MONTHS}),? \d{{4}}|\d{{4}})"
NAME = r"(?:[A-Z][\w.'’-]*(?: (?:(?:de|of|the|von|van|and|da|del|la|di|bin|al) ){0,2}[A-Z][\w.'’-]*){0,4})"
PLACE = rf"(?:{NAME}(?:, {NAME}){{0,3}})"
NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)"

# Kind of subject by the noun of its definition, for "the film X" and for questions that only make sense of a kind.
KINDS = {
    "work": "film movie album song single novel book series show play opera musical game magazine newspaper painting ep documentary poem",
    "person": (
        "actor actress singer politician footballer player musician writer author lawyer physician scientist artist painter cricketer coach "
        "director producer journalist composer songwriter poet novelist historian engineer architect businessman professor mathematician "
        "physicist chemist swimmer wrestler boxer racer driver athlete guitarist drummer rapper comedian soldier officer general admiral "
        "judge bishop priest king queen philosopher economist activist lyricist entrepreneur presenter broadcaster botanist photographer"
    ),
    "place": "town village city county township district municipality commune parish suburb community borough hamlet island region province",
    "other": (
        "school university college station airport band group company river mountain museum club team ship bridge building church hospital "
        "railway lake park stadium battle party organization genus species award festival"
    ),
}
KIND_OF = {noun: kind for kind, nouns in KINDS.items() for noun in nouns.split()}

PERSON = {
    rf"\([^()]*?(?P<a>{DATE}) ?[–-] ?{DATE}": ("When was {x} born?", "What is {x}'s date of birth?", "when was {x} born"),
    rf"\([^()]*?{DATE} ?[–-] ?(?P<a>{DATE}) ?\)": ("When did {x} die?", "What is {x}'s date of death?", "when did {x} die"),
    rf"\b[Bb]orn:? (?:on |in )?(?P<a>{DATE})": ("When was {x} born?", "What is {x}'s date of birth?", "In what year was {x} born?"),
    rf"\b[Bb]orn (?:and raised |(?:on |in )?{DATE},? )?in (?P<a>{PLACE})": ("Where was {x} born?", "What is {x}'s birthplace?", "where is {x} from"),
    rf"\b[Dd]ied (?:on |in )(?P<a>{DATE})": ("When did {x} die?", "What is {x}'s date of death?"),
    rf"\b[Dd]ied (?:on {DATE} )?(?:at|in) (?P<a>{PLACE})": ("Where did {x} die?", "What is {x}'s place of death?"),
    rf"\b(?:is|was) an? (?:former |retired |professional )*(?:{NAME}(?:-{NAME})? )?(?:former |retired |professional )*(?P<a>[a-z][a-z -]{{3,40}}?)"
    r"(?= who\b| and\b| for\b| from\b| of\b| in\b| with\b| known\b| best\b| currently\b|[.,;(])": (
        "What is the profession of {x}?", "What is {x}'s occupation?", "What was {x}'s profession?", "What is {x}'s profession?",
        "Who is {x}?", "What does {x} do?",
    ),
    rf"\b(?:is|was) an? (?:former |retired |professional )*(?P<a>[A-Z][a-z]+(?:[- ][A-Z][a-z]+)?)(?= [a-z])": (
        "What is the nationality of {x}?", "What is {x}'s nationality?", "What nationality is {x}?",
    ),
    r"\b(?:is|was) an? [\w -]{0,40}?\b(?P<a>(?:American |association |Australian rules |Gaelic |ice |field )?"
    r"(?:football|soccer|baseball|basketball|cricket|hockey|tennis|golf|rugby(?: union| league)?|volleyball|handball|footballer|cricketer|swimmer"
    r"|boxer|wrestler|cyclist|rower|fencer|golfer|badminton|water polo|lacrosse|softball))\b": (
        "What sport is {x} associated with?", "What sport does {x} play?", "What sport did {x} play?",
    ),
    r"\b(?:member of|representing|candidate (?:of|for)|leader of|for) the (?P<a>(?:[A-Z][\w-]+ ){1,4}Party)": (
        "What political party is {x} affiliated with?", "What party did {x} belong to?", "What is the political party of {x}?",
    ),
    r"\b(?P<a>Republican|Democratic|Democrat|Conservative|Labour|Labor|Liberal|Whig)\b": (
        "What political party is {x} affiliated with?", "Which party does {x} belong to?", "What political party was {x} affiliated with?",
    ),
    rf"\b(?:graduat\w+ from|educated at|attended|studied at|degree from|alumn\w+ of) (?:the )?(?P<a>{NAME})": (
        "Where was {x} educated?", "Which university did {x} attend?", "What school did {x} go to?", "What is the alma mater of {x}?",
    ),
    rf"\bmarried (?:to )?(?P<a>{NAME})": ("Who is the spouse of {x}?", "Who did {x} marry?", "Who was {x} married to?"),
    rf"\b(?:son|daughter|child) of (?:[a-z]+ )?(?P<a>{NAME})": ("Who is the father of {x}?", "Who was the parent of {x}?"),
    rf"\bplay(?:s|ed|ing) (?:[\w -]{{0,30}} )?(?:for|with) (?:the )?(?P<a>{NAME})": ("What team does {x} play for?", "Which club did {x} play for?"),
    r"\bplays? as an? (?P<a>[a-z -]{4,30}?)(?= for| in|[.,])": ("What position does {x} play?", "What is the position of {x}?"),
}  # fmt: skip
WORK = {
    rf"\b(?:[Dd]irected|directed and \w+|written and directed) by (?P<a>{NAME}(?: and {NAME})?)": (
        "Who directed {x}?", "Who is the director of {x}?", "Who was the director of {x}?",
    ),
    rf"\b[Pp]roduced by (?P<a>{NAME})": ("Who produced {x}?", "Who is the producer of {x}?"),
    rf"\b[Ww]ritten by (?P<a>{NAME}(?: and {NAME})?)": ("Who wrote {x}?", "Who is the author of {x}?", "Who is the writer of {x}?"),
    rf"\b(?:composed|music) by (?P<a>{NAME})": ("Who composed the music for {x}?", "Who composed {x}?", "Who is the composer of {x}?"),
    rf"\b(?:[Ss]tarring|stars|starred|features|featuring) (?P<a>{NAME})": (
        "Who starred in {x}?", "Who is the main actor in {x}?", "Who is the star of {x}?", "Who played the lead role in {x}?",
    ),
    rf"\b[Rr]eleased (?:\w+ )?(?:on|in) (?P<a>{DATE})": (
        "When was {x} released?", "What is the release date of {x}?", "When did {x} come out?", "In what year was {x} released?",
    ),
    rf"\b(?:is|was) an? (?P<a>\d{{4}})\b": ("When was {x} released?", "What year was {x} released?", "What is the release year of {x}?"),
    rf"\b(?:is|was) an? (?:\d{{4}} )?(?P<a>[A-Z][a-z]+(?:-[A-Z][a-z]+)?)(?= [a-z])": (
        "What country is {x} from?", "What is the nationality of {x}?", "What is the country of origin of {x}?",
    ),
    rf"\b(?:is|was) an? (?:\d{{4}} )?(?:{NAME}(?:-{NAME})? )?(?P<a>[a-z][a-z -]{{2,40}}?)(?= (?:film|movie|album|series|novel|game|show|song))": (
        "What is the genre of {x}?", "What genre is {x}?", "What type of work is {x}?", "What kind of film is {x}?",
    ),
    rf"\b(?:is|was) (?:an?|the) [\w -]{{0,40}}?(?P<a>film|movie|album|song|single|novel|book|television series|musical|opera|video game|play|magazine"
    r"|newspaper|painting|poem)\b": ("What is the medium of {x}?", "What is {x}?", "What type of media is {x}?", "What is the format of {x}?"),
    rf"\b(?P<a>[A-Z][a-z]+)[- ]language\b": ("What is the language of {x}?", "What language is {x} in?"),
    rf"\b(?:album|song|single|EP) (?:recorded )?by (?:the )?(?:(?:[\w-]+ ){{0,6}}?(?:singer|band|group|artist|rapper|musician|duo|songwriter|DJ|guitarist"
    rf"|saxophonist|pianist|composer|trio|quartet) )?(?P<a>{NAME})(?= that| released| which| from| and|[,.]|$)": (
        "Who is the artist of {x}?", "Who sang {x}?", "Who performed {x}?", "Who is the performer of {x}?", "Who recorded {x}?",
    ),
    rf"\b(?:novel|book|play|poem|opera|painting|comedy|drama|work) (?:written )?by (?:the )?(?:(?:[\w-]+ ){{0,6}}?(?:author|writer|novelist|poet|composer"
    rf"|playwright|artist|painter|historian|journalist|screenwriter) )?(?P<a>{NAME})(?= that| published| which| about| and|[,.]|$)": (
        "Who is the author of {x}?", "Who wrote {x}?", "Who is the creator of {x}?", "Who created {x}?",
    ),
    rf"\b[Bb]ased on (?P<a>(?:the |a )?[^.,;]{{5,50}})(?=[.,;])": ("What is {x} based on?",),
    rf"\b(?:[Pp]ublished|released|distributed) (?:\w+ )?(?:by|through) (?P<a>{NAME})": (
        "Who published {x}?", "Who is the publisher of {x}?", "What is the record label of {x}?", "Who distributed {x}?",
    ),
}  # fmt: skip
PLACES = {
    rf"\bpopulation (?:of |was |is |at the \d{{4}} census was |as of \d{{4}} was |in \d{{4}} was )*(?:about |approximately |around |over )?(?P<a>{NUMBER})(?! per)": (
        "What is the population of {x}?", "How many people live in {x}?", "What was the population of {x}?", "what is {x}'s population",
    ),
    rf"\b(?:is|was|lies) (?:an? |the )?[\w ,-]{{0,60}}?\b(?:in|within) (?:the )?(?P<a>{PLACE})": (
        "Where is {x} located?", "Where is {x}?", "In which state is {x} located?", "What country is {x} in?", "What is the location of {x}?",
    ),
    rf"\b[Ll]ocated (?:\w+ )?(?:in|at|on|near) (?:the )?(?:\w+ (?:of|in) )?(?P<a>{PLACE})": ("Where is {x} located?", "What is the location of {x}?", "Where is {x}?"),
    r"\b(?:area|size) of (?P<a>[\d.,]+ ?(?:km2|square \w+|km²|sq mi|hectares|acres|km))": ("What is the area of {x}?", "How big is {x}?", "What is the total area of {x}?"),
    r"\belevation of (?P<a>[\d.,]+ ?\w+)": ("What is the elevation of {x}?", "How high is {x}?"),
    rf"\b(?:[Ff]ounded|established|incorporated|settled|created|formed|opened|built|constructed|completed) (?:\w+ )?(?:in|on) (?P<a>{DATE})": (
        "When was {x} established?", "When was {x} founded?", "When was {x} built?", "When was {x} created?", "When was {x} constructed?",
        "When was {x} formed?", "When did {x} open?", "When was {x} opened?",
    ),
    rf"\b[Nn]amed (?:after|for|in honor of) (?P<a>(?:the )?[^.,;]{{4,50}})(?=[.,;])": ("Who is {x} named after?", "What is {x} named after?"),
    rf"\b(?:[Ff]ounded|established|created|formed|designed|built|invented|developed|constructed) (?:\w+ )?(?:in \d{{4}} )?by (?:the )?(?P<a>{NAME}(?: and {NAME})?)": (
        "Who founded {x}?", "Who established {x}?", "Who designed {x}?", "Who built {x}?", "Who created {x}?", "Who is the founder of {x}?",
        "Who was the architect of {x}?",
    ),
    rf"\b(?:[Oo]wned|operated|run|managed|owned and operated) by (?:the )?(?P<a>{NAME})": ("Who owns {x}?", "Who operates {x}?", "Who is the owner of {x}?"),
    rf"\b(?:headquartered|based|headquarters) (?:\w+ )?(?:in|at) (?P<a>{PLACE})": ("Where is {x} based?", "Where is {x} headquartered?", "Where are the headquarters of {x}?"),
    r"\bcapacity of (?P<a>[\d.,]+)": ("What is the capacity of {x}?", "How many people does {x} hold?"),
    r"\b(?P<a>[\d.,]+ ?(?:km|kilometres|kilometers|miles|metres|meters|m|ft|feet)) (?:\([^)]*\) )?long\b": ("What is the length of {x}?", "How long is {x}?"),
    rf"\btook place (?:\w+ )?(?:on|in) (?P<a>{DATE})": ("When did {x} take place?", "When was {x}?", "What is the date of {x}?"),
    rf"\bbetween (?P<a>{NAME} and {NAME})\b": ("Who fought in {x}?", "Who were the parties in {x}?"),
    rf"\bmembers? (?:are|were|include|included) (?P<a>{NAME})": ("Who is a member of {x}?",),
    r"\bmedian income for a (?P<k>household|family) (?:in the \w+ )?(?:was|is) (?P<a>\$[\d,]+)": ("What is the median income for a {k} in {x}?",),
    r"\bmedian age (?:was|is) (?P<a>[\d.]+(?: years)?)": ("What is the median age in {x}?", "What is the median age of {x}?"),
}  # fmt: skip
TABLES = {
    kind: [(re.compile(pattern), wordings) for pattern, wordings in table.items()]
    for kind, table in (("person", PERSON), ("work", WORK), ("place", PLACES))
}
TABLES["other"] = TABLES["place"]
RELATIVE = re.compile(r"^(He|She|It|They|His|Her|Its|Their|The (?:\w+ )?(?:" + "|".join(KIND_OF) + r"))\b")
FURTHER = re.compile(r"\b(?:by|starring|that|which|who|in|of|about|from|for|with|located|based|known)\b|[,(]")
DEFINITION = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of) (?P<words>[^.;]{3,90})")


def kind_of(sentence: str) -> tuple[str, str]:
    """Kind and noun of the subject that a sentence defines ("work", "film"); two empty texts where it defines none that is known."""
    match = DEFINITION.search(sentence)
    if match:
        # The head noun is the last one before what is said of it: "a French writer and film director born in ...".
        words = re.findall(r"[a-z-]+", FURTHER.split(match["words"])[0].lower())
        for word in reversed(words):
            if word in KIND_OF:
                return KIND_OF[word], word
    return "", ""


def attribute_questions(title: str, text: str, sentences: list[tuple[int, int]]) -> list[Cloze]:
    """Questions for attributes of the subject, at most two a pattern; the same passage gives the same questions.

    Sentences that speak of something else are left out: only those count that name the subject or point back to it.
    """
    name = plain_title(title) or _leading_name(text)
    if not name or not sentences:
        return []
    rng = random.Random(content_id("attributes", title, text))
    kind, noun = next(((k, n) for k, n in (kind_of(text[start:end]) for start, end in sentences[:2]) if k), ("", ""))
    if not kind:
        return []
    found: list[Cloze] = []
    last = name.split()[-1].lower()
    for number, (start, end) in enumerate(sentences):
        sentence = text[start:end]
        if number and not RELATIVE.match(sentence) and last not in sentence.lower():
            continue
        for pattern, wordings in TABLES[kind]:
            match = pattern.search(sentence)
            if match and match["a"].strip():
                # A name pattern takes in the full stop of an initial, and of the sentence.
                answer = match["a"].rstrip(" .,'’-")
                place = (start + match.start("a"), start + match.start("a") + len(answer))
                for question in _asked(wordings, match, name, noun, kind, rng):
                    if not stands_in(text[place[0] : place[1]], question):
                        found.append(Cloze(question, *place, (start, end), "attribute"))
    return found


def _asked(wordings: tuple[str, ...], match: re.Match[str], name: str, noun: str, kind: str, rng: random.Random) -> Iterator[str]:
    for wording in rng.sample(wordings, min(len(wordings), 2)):
        yield wording.format(x=_called(name, noun, kind, rng), k=match.groupdict().get("k", ""))


def _called(name: str, noun: str, kind: str, rng: random.Random) -> str:
    """The subject as a question calls it: its name, its kind and name, in quotes, or the last name with a title."""
    draw = rng.random()
    if kind == "work":
        return f'"{name}"' if draw < 0.35 else f'the {noun} "{name}"' if draw < 0.6 else f"the {noun} {name}" if draw < 0.75 else name
    if kind == "person" and draw < 0.12 and " " in name:
        return f"{rng.choice(['Judge', 'Admiral', 'Dr.', 'General', 'Senator', 'Professor', 'Bishop', 'Captain'])} {name.split()[-1]}"
    if draw < 0.2:
        return name.split(",")[0]
    return f"the {name}" if kind == "other" and draw < 0.45 and not name.lower().startswith("the ") else name


def _leading_name(text: str) -> str:
    match = re.match(rf"(?:The )?({NAME})(?= (?:is|was|\())", text)
    return match[1] if match else ""
