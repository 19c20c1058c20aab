"""Invented entities written up as pages are: an opening, statistics, an info box, categories, a table of properties, page furniture.

Each page holds some attributes of one entity; the questions ask for one of them, or for one that the page does not hold. Many figures of
one kind stand side by side, so that only the attribute's own words tell the right one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from train.data.attributes import MONTHS
from train.data.conflicts.banks import bank
from train.data.conflicts.names import Names
from train.data.questions import Reading

Draw = Callable[[random.Random, Names], str]


@dataclass(frozen=True)
class Attribute:
    """How a value is drawn, said in a sentence ({x} the entity, {v} the value), keyed in a box, and asked for."""

    draw: Draw
    said: tuple[str, ...]
    key: str
    asked: tuple[str, ...]


def _number(low: int, high: int) -> Draw:
    return lambda rng, names: f"{round(low * (high / low) ** rng.random()):,}"


def _money(low: int, high: int) -> Draw:
    return lambda rng, names: f"${rng.randint(low, high):,}"


def _of(*choices: str) -> Draw:
    return lambda rng, names: rng.choice(choices)


def _date(low: int, high: int) -> Draw:
    def draw(rng: random.Random, names: Names) -> str:
        year, month, day = rng.randint(low, high), rng.choice(MONTHS.split("|")), rng.randint(1, 28)
        form = rng.random()
        return f"{month} {day}, {year}" if form < 0.45 else f"{day} {month} {year}" if form < 0.85 else f"{month} {year}"

    return draw


def _year(low: int, high: int) -> Draw:
    return lambda rng, names: str(rng.randint(low, high))


def _person(rng: random.Random, names: Names) -> str:
    return names.person()


def _place(rng: random.Random, names: Names) -> str:
    countries = bank("geo")["COUNTRIES"]
    country = rng.choice(sorted(countries))
    region = rng.choice(sorted(countries[country]))
    town = rng.choice([names.town(), rng.choice(countries[country][region])])
    return rng.choice([f"{town}, {region}", f"{town}, {country}", f"{town}, {rng.choice(STATES)}", town])


def _amount(low: float, high: float, *units: str) -> Draw:
    return lambda rng, names: f"{rng.uniform(low, high):.{rng.choice([0, 1, 2])}f} {rng.choice(units)}"


STATES = (
    "Ohio|Iowa|Texas|Michigan|Georgia|Maine|Oregon|Kansas|Indiana|Illinois|Minnesota|Wisconsin|Missouri|Kentucky|Pennsylvania|New York|Alabama|"
    "California|Florida|Nebraska|Virginia|Vermont|Montana|Washington"
).split("|")
NATIONS = "American|British|French|German|Italian|Canadian|Australian|Indian|Japanese|Polish|Irish|Scottish|Dutch|Swedish|Brazilian|Mexican|Kenyan".split(
    "|"
)
JOBS = sorted(
    {
        *bank("entities")["JOBS"],
        *"actor|singer|lawyer|politician|economist|painter|footballer|cricketer|rower|fencer|screenwriter|trombonist".split("|"),
    }
)
SPORTS = "American football|association football|baseball|basketball|cricket|rugby union|rugby league|ice hockey|field hockey|tennis|golf|boxing|rowing|fencing|badminton|volleyball|water polo|swimming|wrestling|lacrosse|Gaelic football|Australian rules football|cycling|athletics".split(
    "|"
)
GENRES = "comedy|drama|horror|musical|western|romantic comedy|crime drama|film noir|science fiction|thriller|documentary|war|adventure|jazz|folk|hard rock|blues|country|pop|heavy metal|silent|fantasy|animated|historical".split(
    "|"
)

PLACE = {
    "population": Attribute(_number(80, 90000), (
        "The population was {v} at the {y} census.", "As of the census of {y}, there were {v} people, {n} households, and {n} families residing in {x}.",
        "As of the {y} census, {x} had a population of {v}.", "{x} has {v} inhabitants.", "In {y} its population was estimated at {v}.",
        "There were {v} people living in {n} households.",
    ), "Population ({y}) • Total", ("What is the population of {x}?", "How many people live in {x}?", "What was the population of {x}?", "What is the estimated population of {x}?")),
    "density": Attribute(_number(5, 3000), ("The population density was {v} people per square mile.", "The population density was {v} inhabitants per square kilometre."), "• Density", ("What is the population density of {x}?",)),
    "households": Attribute(_number(50, 30000), ("{v} households made up the {y} count.", "The census counted {v} households in the area."), "Households", ("How many households are there in {x}?",)),
    "household income": Attribute(_money(18000, 95000), ("The median income for a household in the {k} was {v}.", "The median household income was {v}."), "Median household income", ("What is the median income for a household in {x}?", "What is the median household income in {x}?")),
    "family income": Attribute(_money(22000, 110000), ("The median income for a family was {v}.", "Families had a median income of {v}."), "Median family income", ("What is the median income for a family in {x}?", "What is the median family income in {x}?")),
    "per capita": Attribute(_money(9000, 48000), ("The per capita income for the {k} was {v}.",), "Per capita income", ("What is the per capita income of {x}?", "What is the per capita income for {x}?")),
    "age": Attribute(lambda rng, names: f"{rng.uniform(25, 55):.1f} years", ("The median age in the {k} was {v}.", "The median age was {v}."), "Median age", ("What is the median age in {x}?", "What is the median age of {x}?")),
    "area": Attribute(_amount(0.5, 300, "square miles", "km2", "sq mi", "square kilometers"), ("The {k} has a total area of {v}.", "It covers an area of {v}."), "Area • Total", ("What is the total area of {x}?", "What is the area of {x}?")),
    "elevation": Attribute(_amount(5, 2500, "m", "ft", "metres", "feet"), ("It lies at an elevation of {v}.",), "Elevation", ("What is the elevation of {x}?",)),
    "county": Attribute(lambda rng, names: f"{names.stem()} County, {rng.choice(STATES)}", ("{x} is a {k} in {v}, United States.", "{x} is a {k} in {v}."), "Country United States County", ("Where is {x} located?", "In which county is {x} located?", "What county is {x} in?", "Where is {x}?")),
    "founded": Attribute(_date(1650, 1950), ("{x} was founded on {v}.", "It was incorporated on {v}.", "The {k} was settled in {v}."), "Founded", ("When was {x} founded?", "When was {x} incorporated?", "When was {x} established?")),
    "named": Attribute(_person, ("It was named after {v}.", "The {k} takes its name from {v}, an early settler."), "Named for", ("Who is {x} named after?", "Who was {x} named for?")),
}  # fmt: skip
PERSON = {
    "job": Attribute(_of(*JOBS), ("{x} is a {a} {v}.", "{x} was a {a} {v}.", "{x} worked as a {v} for {n} years."), "Occupation", ("What is the profession of {x}?", "What is {x}'s profession?", "What was the profession of {x}?", "What is {x}'s occupation?", "Who is {x}?")),
    "born": Attribute(_date(1700, 2000), ("{x} was born on {v}.", "{x} (born {v}) grew up in a small town.", "Born on {v}, {x} was the youngest of three children."), "Born", ("When was {x} born?", "What is {x}'s date of birth?", "What is the birth date of {x}?")),
    "birthplace": Attribute(_place, ("{x} was born in {v}.", "A native of {v}, {x} moved away early.", "Born in {v}, {x} went to school there."), "Place of birth", ("Where was {x} born?", "What is the birthplace of {x}?", "In which place was {x} born?", "What is the place where {x} was born?")),
    "died": Attribute(_date(1800, 2022), ("{x} died on {v}.", "{x} died of a stroke on {v}.", "The death came on {v}, after a long illness."), "Died", ("When did {x} die?", "What is the date of death of {x}?")),
    "deathplace": Attribute(_place, ("{x} died in {v}.", "{x} died at home in {v}."), "Place of death", ("Where did {x} die?",)),
    "sport": Attribute(_of(*SPORTS), ("{x} played {v} for the national team.", "{x} is a former {v} player.", "{x} was known as a {v} player."), "Sport", ("What sport is {x} associated with?", "What sport did {x} play?", "What sport does {x} play?")),
    "team": Attribute(lambda rng, names: f"{names.town()} {rng.choice(['United', 'City', 'Rovers', 'Wanderers', 'Tigers', 'Bears', 'Hawks', 'Royals'])}", ("{x} played for {v} from {y} to {y}.", "{x} signed with {v} in {y}.", "{x} was drafted by the {v}."), "Current team", ("What team did {x} play for?", "Which team did {x} play for?")),
    "position": Attribute(_of("goalkeeper", "forward", "midfielder", "linebacker", "quarterback", "pitcher", "defender", "defensive tackle", "wing", "point guard", "shortstop"), ("{x} played as a {v}.", "{x} plays at {v}."), "Position", ("What position did {x} play?", "What is the position of {x}?", "What position does {x} play?")),
    "party": Attribute(_of("Republican", "Democratic", "Labour Party", "Conservative Party", "Liberal Party", "Green Party", "Democratic Party", "Republican Party", "Labor Party", "Whig Party", "National Party"), ("{x} was elected as a member of the {v}.", "{x} stood for the {v} in {y}.", "{x} represented the {v}."), "Political party", ("What political party is {x} affiliated with?", "What political party was {x} affiliated with?", "What is the political party of {x}?", "Which party did {x} belong to?")),
    "school": Attribute(lambda rng, names: rng.choice([f"University of {names.town()}", f"{names.stem()} College", f"{names.town()} University", f"{names.stem()} Law School"]), ("{x} studied at the {v}.", "{x} was educated at {v}.", "{x} received a degree from {v} in {y}."), "Education", ("Where was {x} educated?", "Where did {x} study?", "What university did {x} attend?")),
    "spouse": Attribute(_person, ("{x} married {v} in {y}.", "{x} was married to {v}."), "Spouse", ("Who was the spouse of {x}?", "Who did {x} marry?")),
    "father": Attribute(_person, ("{x} was the son of {v}.", "{x}'s father was {v}."), "Father", ("Who was {x}'s father?", "Who is the father of {x}?")),
    "nation": Attribute(_of(*NATIONS), ("{x} is a {v} citizen.", "{x} was {v} by nationality."), "Nationality", ("What is the nationality of {x}?", "What nationality is {x}?")),
    "confirmed": Attribute(_date(1850, 2015), ("{x} was confirmed by the United States Senate on {v}.",), "Confirmed", ("When was {x} confirmed by the Senate?",)),
    "nominated": Attribute(_date(1850, 2015), ("{x} was nominated by the President on {v}.",), "Nominated", ("When was {x} nominated?",)),
}  # fmt: skip
WORK = {
    "director": Attribute(_person, ("{x} was directed by {v}.", "{v} directed {x}.", "{x} is a {y} {a} {k} directed by {v}."), "Directed by", ("Who directed {x}?", "Who is the director of {x}?", "Who was the director of {x}?")),
    "star": Attribute(_person, ("{x} stars {v}.", "It stars {v} in the main part.", "{v} plays the leading role."), "Starring", ("Who is the main actor in {x}?", "Who stars in {x}?", "Who starred in {x}?")),
    "writer": Attribute(_person, ("{x} was written by {v}.", "The script is by {v}.", "{v} wrote {x} in {y}."), "Written by", ("Who wrote {x}?", "Who is the author of {x}?", "Who is the writer of {x}?")),
    "producer": Attribute(_person, ("{x} was produced by {v}.",), "Producer", ("Who produced {x}?", "Who is the producer of {x}?")),
    "artist": Attribute(_person, ("{x} was recorded by {v}.", "{x} is a {k} by {v}.", "{x} is a {a} {k} by {v}."), "Artist", ("Who is the artist of {x}?", "Who performed {x}?", "Who is the performer of {x}?")),
    "released": Attribute(_date(1910, 2020), ("{x} was released on {v}.", "It came out on {v}.", "The premiere was on {v}."), "Release date", ("When was {x} released?", "What is the release date of {x}?", "When did {x} come out?")),
    "genre": Attribute(_of(*GENRES), ("{x} is a {v} {k}.", "{x} is a {y} {a} {v} {k}.", "Critics call it {v}."), "Genre", ("What is the genre of {x}?", "What genre is {x}?", "What type of {k} is {x}?")),
    "language": Attribute(_of(*"Hindi|Tamil|Telugu|English|French|German|Marathi|Bengali|Malayalam|Kannada|Japanese|Korean|Spanish|Italian".split("|")), ("{x} is a {v}-language {k}.", "The {k} is in {v}."), "Language", ("What is the language of {x}?", "What language is {x} in?")),
    "label": Attribute(lambda rng, names: f"{names.stem()} {rng.choice(['Records', 'Music', 'Pictures', 'Press', 'Films', 'Books'])}", ("{x} was issued by {v}.", "{v} published it in {y}."), "Label", ("Who published {x}?", "What is the label of {x}?", "Who distributed {x}?")),
    "length": Attribute(_amount(2, 180, "minutes", "min"), ("It runs for {v}.", "The running time is {v}."), "Length", ("What is the length of {x}?", "How long is {x}?", "What is the running time of {x}?")),
}  # fmt: skip
BODY = {
    "established": Attribute(_date(1750, 2015), ("{x} was established on {v}.", "{x} opened on {v}.", "The {k} began operating in {v}.", "It was built in {v}."), "Established", ("When was {x} established?", "When was {x} founded?", "When did {x} open?", "When was {x} built?", "When was {x} created?")),
    "closed": Attribute(_date(1900, 2020), ("{x} closed on {v}.", "It was demolished in {v}."), "Closed", ("When did {x} close?", "When was {x} demolished?")),
    "location": Attribute(_place, ("{x} is a {k} in {v}.", "{x} is located in {v}.", "The {k} is situated in {v}.", "{x} is based in {v}."), "Location", ("Where is {x} located?", "Where is {x}?", "What is the location of {x}?", "Where is {x} based?")),
    "size": Attribute(_number(60, 40000), ("It has {v} students.", "It serves {v} people a year.", "It holds {v} visitors.", "The {k} has a capacity of {v}."), "Capacity", ("What is the capacity of {x}?", "How many people does {x} hold?")),
    "architect": Attribute(_person, ("{x} was designed by {v}.", "The architect was {v}."), "Architect", ("Who designed {x}?", "Who was the architect of {x}?")),
    "owner": Attribute(lambda rng, names: names.company(), ("{x} is owned by {v}.", "{v} operates the {k}."), "Owner", ("Who owns {x}?", "Who is the owner of {x}?", "Who operates {x}?")),
    "head": Attribute(_person, ("{v} is the head of the {k}.", "{x} is led by {v}."), "Principal", ("Who is the head of {x}?", "Who leads {x}?", "Who is the principal of {x}?")),
    "height": Attribute(_amount(5, 300, "m", "ft", "feet"), ("It is {v} high.", "The {k} has a height of {v}."), "Height", ("How tall is {x}?", "What is the height of {x}?")),
    "length": Attribute(_amount(1, 900, "km", "miles", "laps"), ("It is {v} long.", "It has a length of {v}."), "Length", ("What is the length of {x}?", "How long is {x}?")),
    "type": Attribute(_of("private university", "public high school", "railway station", "non-profit organization", "museum", "trade union", "convention", "public-use airport", "lighthouse", "city library"), ("{x} is a {v}.",), "Type", ("What is {x}?", "What type of organization is {x}?", "What is the primary function of {x}?")),
}  # fmt: skip
EVENT = {
    "date": Attribute(_date(1100, 2010), ("{x} took place on {v}.", "{x} was held on {v}.", "{x} was fought on {v}."), "Date", ("When did {x} take place?", "When was {x}?", "What is the date of {x}?")),
    "location": Attribute(_place, ("{x} took place near {v}.", "{x} was held in {v}."), "Location", ("Where did {x} take place?", "Where was {x} held?")),
    "leader": Attribute(_person, ("{x} was led by {v}.", "The victorious side was commanded by {v}."), "Commander", ("Who led {x}?", "Who commanded the forces in {x}?")),
    "winner": Attribute(_person, ("{x} was won by {v}.", "{v} won in the final."), "Winner", ("Who won {x}?", "Who was the winner of {x}?")),
    "dead": Attribute(_number(3, 9000), ("{v} people were killed.", "The dead numbered {v}."), "Fatalities", ("How many people died in {x}?", "How many people were killed in {x}?")),
    "wounded": Attribute(_number(3, 9000), ("{v} more were wounded.",), "Injuries", ("How many people were wounded in {x}?",)),
}  # fmt: skip
KINDS = {
    "town": PLACE, "township": PLACE, "village": PLACE, "city": PLACE, "person": PERSON, "man": PERSON, "player": PERSON, "film": WORK, "album": WORK,
    "novel": WORK, "song": WORK, "school": BODY, "station": BODY, "museum": BODY, "lighthouse": BODY, "club": BODY, "battle": EVENT, "race": EVENT,
}  # fmt: skip
FURNITURE = (
    "Jump to content Main menu Navigation Main page Contents Current events Random article Contact us Search Appearance Donate Create account Log in Personal tools Tools move to sidebar hide",
    "Article Talk English Read Edit View history Tools What links here Related changes Upload file Page information Cite this page Print/export Download as PDF From the free encyclopedia",
    "Home About News Contact Sign in Register Privacy Policy Terms of Use Cookie statement Mobile view", "External links [ edit ] Official website References [ edit ] See also [ edit ] Notes ^",
    "Retrieved from an archive . Hidden categories : Articles with short description All stub articles Coordinates on Wikidata", "Share this page Facebook Twitter Email Print Subscribe to our newsletter All rights reserved",
)  # fmt: skip


@dataclass
class Page:
    """Text under construction, and where the values stand in it."""

    text: str = ""
    places: dict[str, list[tuple[int, int]]] | None = None

    def add(self, template: str, name: str, value: str, filled: dict[str, str]) -> None:
        """Appends a filled template; `{v}` is where the value goes."""
        self.places = self.places if self.places is not None else {}
        before, mark, after = template.partition("{v}")
        self.text += (" " if self.text else "") + _filled(before, filled)
        if mark:
            self.places.setdefault(name, []).append((len(self.text), len(self.text) + len(value)))
            self.text += value + _filled(after, filled)


def _filled(template: str, filled: dict[str, str]) -> str:
    for key, value in filled.items():
        template = template.replace("{" + key + "}", value)
    return template


def record_readings(count: int, seed: int) -> list[Reading]:
    """So many readings of invented pages; three of ten ask for what the page does not say."""
    rng = random.Random(seed)
    names = Names(rng, "train")
    made: list[Reading] = []
    while len(made) < count:
        names.reset()
        kind = rng.choice(sorted(KINDS))
        made += _page_readings(kind, KINDS[kind], rng, names)
    return made[:count]


def _page_readings(kind: str, table: dict[str, Attribute], rng: random.Random, names: Names) -> list[Reading]:
    name = _name(kind, rng, names)
    held = rng.sample(sorted(table), rng.randint(2, min(7, len(table) - 1)))
    page = _written(kind, table, held, name, rng, names)
    readings = []
    absent = [one for one in sorted(table) if one not in held]
    for _ in range(rng.randint(1, 3)):
        wanted = rng.choice(absent) if rng.random() < 0.3 else rng.choice(held)
        question = _filled(rng.choice(table[wanted].asked), {"x": _asked_for(kind, name, rng), "k": kind})
        spans = tuple((page.places or {}).get(wanted, ()))
        readings.append(Reading(question, page.text, spans, "made by rule: record"))
    return readings


def _written(kind: str, table: dict[str, Attribute], held: list[str], name: str, rng: random.Random, names: Names) -> Page:
    page, style = Page(), rng.random()
    if rng.random() < 0.3:
        page.add(_debris(rng), "", "", {})
    if rng.random() < 0.5:
        page.add(name, "", "", {})
    values = {one: table[one].draw(rng, names) for one in held}
    for place, one in enumerate(held):
        filled = {
            "x": name if place == 0 or rng.random() < 0.4 else rng.choice(["It", "The " + kind]) if table is not PERSON else rng.choice(["He", "She", name.split()[-1]]),
            "k": kind, "y": str(rng.randint(1900, 2022)), "n": f"{rng.randint(12, 9000):,}", "a": rng.choice(NATIONS),
        }  # fmt: skip
        if style < 0.5:
            page.add(rng.choice(table[one].said), one, values[one], filled)
            if rng.random() < 0.15:
                page.add(rng.choice(["[ {z} ]", "[{z}]"]), "", "", {"z": str(rng.randint(1, 40))})
        elif style < 0.85:
            page.add(f"{table[one].key} {{v}}", one, values[one], filled)
        else:
            page.add(f"{table[one].key.lower()} {{v}} {rng.randint(0, 3)} references", one, values[one], filled)
    if rng.random() < 0.35:
        page.add(_debris(rng), "", "", {})
    return page


def _debris(rng: random.Random) -> str:
    if rng.random() < 0.6:
        words = rng.choice(FURNITURE).split()
        start = rng.randrange(max(1, len(words) - 8))
        return " ".join(words[start:])
    return " ".join(f"{1900 + 10 * i} {rng.randint(100, 60000):,} {rng.uniform(-30, 60):+.1f} %" for i in range(rng.randint(2, 7)))


def _name(kind: str, rng: random.Random, names: Names) -> str:
    table = KINDS[kind]
    if table is PERSON:
        return names.person()
    if table is PLACE:
        town = names.town()
        return {"township": f"{town} Township"}.get(kind, town) + (f", {rng.choice(STATES)}" if rng.random() < 0.5 else "")
    if table is WORK:
        return names.title().strip("'")
    if table is EVENT:
        return f"Battle of {names.town()}" if kind == "battle" else f"{names.town()} {rng.choice(['200', 'Grand Prix', 'Classic', 'Cup'])}"
    return f"{names.town()} {rng.choice([kind.capitalize(), 'High School']) if kind == 'school' else kind.capitalize()}"


def _asked_for(kind: str, name: str, rng: random.Random) -> str:
    table, draw = KINDS[kind], rng.random()
    if table is WORK:
        return f'"{name}"' if draw < 0.4 else f'the {kind} "{name}"' if draw < 0.7 else name
    if table is PERSON and draw < 0.2:
        return f"{rng.choice(['Judge', 'Admiral', 'Dr.', 'Justice', 'Attorney General', 'Captain', 'Senator'])} {name.split()[-1]}"
    if table is PLACE and draw < 0.5:
        return name.split(",")[0]
    return f"the {name}" if table in (BODY, EVENT) and draw < 0.6 else name
