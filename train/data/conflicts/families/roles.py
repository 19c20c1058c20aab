"""Roles and agents: who did it to whom; converse verbs, passives, swapped roles, symmetric relations, other events."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families.geo import DEMONYMS
from train.data.conflicts.families.stories import Story
from train.data.conflicts.names import Names

# kind of participants, circumstance slot, patterns where A acts on B (converses included); a second relation between the two
CONVERSE: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("company", "in {y}", ("{a} [bought|acquired|took over] {b} {c}", "{b} was [bought|acquired|taken over] by {a} {c}", "{c} {b} was sold to {a}", "{a} was the buyer when {b} changed hands {c}", "{b} became a subsidiary of {a} {c}", "{c} {a} became the owner of {b}"),
     ("{a} supplied {b} with machines", "{b} was supplied with machines by {a}", "{b} bought its machines from {a}", "machines went from {a} to {b}")),
    ("company", "in {y}", ("{a} sued {b} {c}", "{b} was sued by {a} {c}", "{c} {a} took {b} to court", "{a} was the plaintiff and {b} the defendant {c}", "{b} had to answer in court a suit brought by {a} {c}"),
     ("{a} lent money to {b}", "{b} borrowed money from {a}", "{b} owed money to {a}", "a loan went from {a} to {b}")),
    ("team", "in the {y} final", ("{a} [beat|defeated] {b} {c}", "{b} [lost to|was beaten by] {a} {c}", "{c} {a} won against {b}", "{c} {b} went down to {a}", "the winner {c} was {a}, the loser {b}", "victory {c} went to {a} over {b}"),
     ("{a} hosted {b} for a friendly", "{b} travelled to {a} for a friendly", "a friendly was played by {b} on the ground of {a}")),
    ("nation", "in the final in {y}", ("{a} [beat|defeated] {b} {c}", "{b} [lost to|was beaten by] {a} {c}", "{c} {a} won against {b}", "{c} {b} went down to {a}", "the winner {c} was {a}, the loser {b}", "{a} got the better of {b} {c}", "{b} was no match for {a} {c}"),
     ("{a} invited {b} to a friendly", "{b} was invited to a friendly by {a}", "an invitation to a friendly went from {a} to {b}")),
    ("nation", "in {y}", ("{a} [exported|sold] more wine to {b} than it imported from there {c}", "{c} {b} bought more wine from {a} than it sold there", "{c} the balance of the wine trade was in favour of {a} against {b}"),
     ("{a} opened a consulate for {b}", "a consulate for {b} was opened by {a}", "it was {a} that opened a consulate for {b}")),
    ("person", "at the {x} school", ("{a} taught {b} {c}", "{b} was [taught by|a pupil of] {a} {c}", "{c} {b} learned from {a}", "{a} was the teacher of {b} {c}", "{b} had {a} as a teacher {c}"),
     ("{a} painted a portrait of {b}", "{b} sat for a portrait by {a}", "a portrait of {b} was painted by {a}")),
    ("person", "in {y}", ("{a} succeeded {b} as mayor of {x} {c}", "{b} was succeeded by {a} as mayor of {x} {c}", "{c} {b} was followed by {a} as mayor of {x}", "{a} took over the office of mayor of {x} from {b} {c}", "{b} preceded {a} as mayor of {x}, the change coming {c}"),
     ("{a} wrote a letter to {b}", "{b} received a letter from {a}", "a letter went from {a} to {b}")),
    ("person", "in {y}", ("{a} is the [parent|mother] of {b}", "{b} is the child of {a}", "{a} has a child, {b}", "{b} was born to {a}", "{b} grew up as the child of {a}"),
     ("{a} owed money to {b}", "{b} lent money to {a}", "a loan went from {b} to {a}")),
    ("person", "in the {x} firm", ("{a} [hired|employed] {b} {c}", "{b} was hired by {a} {c}", "{b} got a job from {a} {c}", "{a} was the employer of {b} {c}", "{c} {b} worked for {a}"),
     ("{a} taught {b} to swim", "{b} learned to swim from {a}", "it was from {a} that {b} learned swimming")),
    ("person", "after the {x} affair", ("{a} [dismissed|fired] {b} {c}", "{b} was [dismissed|fired] by {a} {c}", "{b} lost a job at the hands of {a} {c}", "{c} {a} gave {b} notice", "{c} {b} was sacked by {a}"),
     ("{a} sent flowers to {b}", "{b} received flowers from {a}", "flowers went from {a} to {b}")),
    ("land", "in {y}", ("{a} ceded the island of {x} to {b} {c}", "{b} [gained|received] the island of {x} from {a} {c}", "the island of {x} passed from {a} to {b} {c}", "{c} {a} gave up the island of {x} to {b}", "the island of {x} was handed over to {b} by {a} {c}"),
     ("{a} invited {b} to a summit", "{b} was invited to a summit by {a}", "an invitation to a summit went from {a} to {b}")),
    ("land", "in {y}", ("{a} [invaded|attacked] {b} {c}", "{b} was [invaded|attacked] by {a} {c}", "{c} troops from {a} marched into {b}", "{a} was the aggressor against {b} {c}", "{c} {b} came under attack from {a}"),
     ("{a} sells grain to {b}", "{b} buys grain from {a}", "grain goes from {a} to {b}", "{b} imports grain from {a}")),
    ("person", "in {y}", ("{a} sold the {x} vineyard to {b} {c}", "{b} bought the {x} vineyard from {a} {c}", "{c} the {x} vineyard passed from {a} to {b}", "the seller of the {x} vineyard was {a} and the buyer {b} {c}", "{a} was paid by {b} for the {x} vineyard {c}"),
     ("{a} rescued {b} from drowning", "{b} was rescued from drowning by {a}", "{b} owed life itself to {a} after nearly drowning")),
    ("person", "in {y}", ("{a} nominated {b} for the {x} prize {c}", "{b} was nominated by {a} for the {x} prize {c}", "{c} the name of {b} was put forward for the {x} prize by {a}", "{b} owed the nomination for the {x} prize {c} to {a}"),
     ("{a} photographed {b}", "{b} was photographed by {a}", "a photograph of {b} was taken by {a}")),
    ("person", "in the {x} match", ("{a} passed to {b}, who scored the only goal {c}", "{b} scored the only goal from a pass by {a} {c}", "{c} {a} set up the only goal, scored by {b}", "{c} the only goal, by {b}, came from a pass by {a}", "{a} provided the pass and {b} the only goal {c}"),
     ("{a} fouled {b}", "{b} was fouled by {a}", "{b} was the victim of a foul by {a}")),
    ("person", "of {y}", ("{a} wrote and {b} translated the {x} saga {c}", "the {x} saga {c} is by {a}, its translation by {b}", "{b} translated the {x} saga {c}, which {a} had written", "the author of the {x} saga {c} is {a}, the translator {b}"),
     ("{a} interviewed {b} on the radio", "{b} was interviewed on the radio by {a}", "{b} answered questions from {a} on the radio")),
    ("person", "in {y}", ("{a} defended and {b} prosecuted the miller of {x} {c}", "{b} was the prosecutor and {a} the defence lawyer of the miller of {x} {c}", "the miller of {x} was prosecuted by {b} and defended by {a} {c}", "{c} {a} spoke for the miller of {x}, {b} against"),
     ("{a} sold a horse to {b}", "{b} bought a horse from {a}", "a horse passed from {a} to {b}")),
    ("species", "on {x}", ("{a} [preys on|hunts|eats] {b} {c}", "{b} is [preyed on|hunted|eaten] by {a} {c}", "{c} {a} is a predator of {b}", "{b} forms the prey of {a} {c}", "{b} falls victim to {a} {c}"),
     ("{a} is larger than {b}", "{b} is smaller than {a}", "in size {a} exceeds {b}", "{b} does not reach the size of {a}")),
    ("river", "near {x}", ("{a} flows into {b} {c}", "{b} takes in the waters of {a} {c}", "{a} is a tributary of {b} and joins it {c}", "{c} {b} is joined by its tributary {a}"),
     ("{a} is longer than {b}", "{b} is shorter than {a}", "in length {a} exceeds {b}")),
    ("person", "in the {x} outbreak", ("{a} infected {b} {c}", "{b} was infected by {a} {c}", "{b} caught the disease from {a} {c}", "the infection passed from {a} to {b} {c}", "{c} {a} was the source of the infection of {b}"),
     ("{a} lived in a flat above {b}", "{b} lived in a flat below {a}", "the flat of {a} lay above that of {b}")),
    ("band", "on the {y} tour", ("{a} opened for {b} {c}", "{b} had {a} as the support act {c}", "{c} {b} headlined and {a} warmed up the crowd", "{a} played before {b}, the main act {c}"),
     ("{a} recorded a song by {b}", "a song by {b} was recorded by {a}", "{b} wrote a song that {a} recorded")),
    ("person", "in {y}", ("{a} appointed {b} judge of {x} {c}", "{b} was appointed judge of {x} by {a} {c}", "{c} {b} owed the post of judge of {x} to {a}", "{a} put {b} on the bench of {x} {c}"),
     ("{a} lost a bet to {b}", "{b} won a bet against {a}", "the winner of the bet was {b}, the loser {a}")),
    ("person", "in {y}", ("{a} donated a kidney to {b} {c}", "{b} received a kidney from {a} {c}", "the kidney that {b} received {c} came from {a}", "{c} {a} was the donor of a kidney for {b}"),
     ("{a} sat to the left of {b}", "{b} sat to the right of {a}", "on the left of {b} sat {a}")),
)  # fmt: skip


def _participants(kind: str, names: Names, rng: Random) -> list[str]:
    if kind == "nation":
        return rng.sample(sorted(DEMONYMS), 3)
    makers = {
        "company": names.company, "person": names.person, "team": lambda: f"{names.town()} {rng.choice(('Rovers', 'United', 'Athletic', 'Town'))}",
        "land": lambda: rng.choice((f"the kingdom of {names.stem()}", f"the duchy of {names.stem()}", f"the republic of {names.stem()}", names.stem())),
        "species": lambda: f"the {names.stem()} {rng.choice(('owl', 'shark', 'spider', 'weasel', 'eel', 'wasp', 'beetle', 'crab'))}",
        "river": lambda: f"the {names.stem()}", "band": lambda: rng.choice((f"the {names.stem()} Band", f"{names.stem()} and the Rats", f"the band {names.stem()}")),
    }  # fmt: skip
    drawn = []
    while len(drawn) < 3:
        name = makers[kind]()
        if name.split()[0] not in {d.split()[0] for d in drawn} or name.startswith("the "):
            drawn.append(name)
    return drawn


# relations that may hold in both directions within one period, so that the reversal does not conflict
MUTUAL = ("nominated", "sued", "invaded", "infected", "donated", "supplied", "lent money", "portrait", "letter", "owed money", "to swim", "flowers", "summit", "grain", "drowning", "photographed", "fouled",
          "interviewed", "horse", "recorded a song", "hosted", "friendly", "consulate")  # fmt: skip
ONCE = ("succeeded", "the [parent", "kidney", "infected", "preys", "flows into")  # happens once or always, whatever the circumstance
DENIALS = ("it is untrue that {s}", "it is false that {s}", "it is not the case that {s}", "the report that {s} is wrong")


def _forms(name: str) -> str | list[str]:
    """A country may also be named by its people's side."""
    return [name, name, f"the {DEMONYMS[name]} side"] if name in DEMONYMS else name


def _directed(scene: Scene, prefix: str, patterns: tuple[str, ...], pair: tuple[str, str], fields: dict[str, str]) -> None:
    """Adds the relation, its reversal and their denials, with their table."""
    mutual = any(word in patterns[0] for word in MUTUAL)
    for name, (a, b) in (("ab", pair), ("ba", pair[::-1])):
        scene.add(f"{prefix}{name}", patterns, a=_forms(a), b=_forms(b), **fields)
        scene.add(f"{prefix}not_{name}", [denial.format(s=p) for denial in DENIALS for p in patterns[:3]], a=_forms(a), b=_forms(b), **fields)
        scene.contradict((f"{prefix}{name}", f"{prefix}not_{name}"))
    if mutual:
        scene.undecided((f"{prefix}ab", f"{prefix}not_ba"), (f"{prefix}ba", f"{prefix}not_ab"))
    else:
        scene.contradict((f"{prefix}ab", f"{prefix}ba"))
        scene.support((f"{prefix}ab", f"{prefix}not_ba"), (f"{prefix}ba", f"{prefix}not_ab"))


def converses(names: Names, rng: Random) -> Scene:
    """A directed relation between two participants, its reversal, the same on another occasion, and a second relation."""
    kind, where, patterns, second = rng.choice(CONVERSE)
    a, b, _ = _participants(kind, names, rng)
    x, z = names.town(), names.town()
    year = rng.randint(1880, 2018)
    later = year + rng.choice((-8, -4, -3, -2, -1, 1, 2, 3, 4, 8))
    scene = Scene("roles_agents", "converses")
    _directed(scene, "", patterns, (a, b), {"x": x, "c": where.format(x=x, y=year)})
    _directed(scene, "second_", second, (a, b), {})
    if "{c}" in patterns[0] and not any(word in patterns[0] for word in ONCE):
        _directed(scene, "other_", patterns, (a, b), {"x": z, "c": where.format(x=z, y=later)})
    return scene


# attribute of a work or event that one person fills; patterns with {e} person and {w}; a different role in the same work
AUTHORS: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...] = (
    ("film", (("director", ("{e} directed {w}", "{w} was directed by {e}", "the director of {w} was {e}", "{w} is a film by the director {e}")), ("composer", ("{e} composed the music for {w}", "the music for {w} is by {e}", "the score of {w} was written by {e}")),
              ("lead", ("{e} played the lead in {w}", "the leading part in {w} was played by {e}", "{w} stars {e} in the lead")))),
    ("book", (("author", ("{e} wrote {w}", "{w} was written by {e}", "the author of {w} is {e}", "{w} is a book by {e}")), ("translator", ("{e} translated {w} into French", "the French translation of {w} is by {e}", "{w} was translated into French by {e}")),
              ("illustrator", ("{e} illustrated {w}", "the pictures in {w} are by {e}", "{w} was illustrated by {e}")))),
    ("bridge", (("designer", ("{e} designed {w}", "{w} was designed by {e}", "the designer of {w} was {e}", "the plans of {w} came from {e}")), ("opener", ("{e} cut the ribbon at the opening of {w}", "the ribbon at the opening of {w} was cut by {e}", "at the opening of {w} it was {e} who cut the ribbon")),
                ("payer", ("{e} paid for {w}", "{w} was paid for by {e}", "the money for {w} came from {e}")))),
    ("element", (("discoverer", ("{e} discovered {w}", "{w} was discovered by {e}", "the discoverer of {w} was {e}", "the discovery of {w} is due to {e}")), ("namer", ("{e} gave {w} its name", "{w} was named by {e}", "{w} owes its name to {e}")),
                 ("weigher", ("{e} was the first to weigh {w}", "the first person to weigh {w} was {e}", "{w} was first weighed by {e}")))),
    ("trial", (("judge", ("{e} presided over {w}", "the judge in {w} was {e}", "{w} was heard by judge {e}", "{w} took place before judge {e}")), ("accused", ("{e} was the accused in {w}", "{w} was brought against {e}", "the one in the dock in {w} was {e}")),
               ("witness", ("{e} was the chief witness in {w}", "the chief witness in {w} was {e}", "{w} turned on the evidence of {e}")))),
    ("expedition", (("leader", ("{e} led {w}", "{w} was led by {e}", "the leader of {w} was {e}", "{w} was under the command of {e}")), ("doctor", ("{e} was the doctor of {w}", "the doctor of {w} was {e}", "{w} had {e} as its doctor")),
                    ("cook", ("{e} was the cook of {w}", "the cook of {w} was {e}", "{w} had {e} as its cook")))),
)  # fmt: skip


def makers(names: Names, rng: Random) -> Scene:
    """Works and events with several roles, each filled by one person: another person in the role, the person in another role."""
    kind, roles = rng.choice(AUTHORS)
    work = {"film": lambda: f"the film {names.title()}", "book": names.title, "bridge": lambda: names.place("bridge"), "element": lambda: f"the {rng.choice(('gas', 'metal', 'element'))} {names.stem().lower()}ium",
            "trial": lambda: f"the {names.town()} trial", "expedition": lambda: f"the {names.stem()} expedition"}[kind]  # fmt: skip
    first, second = work(), work()
    people = [names.person() for _ in range(3)]
    scene = Scene("roles_agents", f"makers.{kind}")
    (role, patterns), (role2, patterns2) = rng.sample(roles, 2)
    for w, name in ((first, "w1"), (second, "w2")):
        for r, p in ((role, patterns), (role2, patterns2)):
            for i, person in enumerate(people[:2]):
                scene.add(f"{name}_{r}_{i}", p, e=person, w=w)
            scene.contradict((f"{name}_{r}_0", f"{name}_{r}_1"))
    return scene


TIES = [
    Story("kin", {"a": "person", "b": "person", "c": "person", "x": "town"}, {
        "sib": ("{a} and {b} [are|were] siblings", "{a} is a sibling of {b}", "{b} and {a} have the same parents", "{b} is a sibling of {a}", "the parents of {a} are also those of {b}"),
        "unrel": ("{a} and {b} are not related", "there is no blood tie between {a} and {b}", "{b} is no relation of {a}", "{a} is in no way related to {b}"),
        "colleague": ("{a} and {b} worked together in {x}", "{b} was a colleague of {a} in {x}", "{a} had {b} as a colleague in {x}", "{b} and {a} were colleagues in {x}"),
        "nocolleague": ("{a} and {b} never worked together in {x}", "{b} was never a colleague of {a} in {x}", "{a} did not have {b} as a colleague in {x}", "{b} and {a} were not colleagues in {x}"),
        "sib2": ("{a} and {c} [are|were] siblings", "{a} is a sibling of {c}", "{c} and {a} have the same parents", "{c} is a sibling of {a}"),
        "unrel2": ("{a} and {c} are not related", "there is no blood tie between {a} and {c}", "{c} is no relation of {a}", "{a} is in no way related to {c}"),
    }, "sib ! unrel, colleague ! nocolleague, sib2 ! unrel2", ()),
    Story("outcome", {"a": "person", "b": ["the clinic", "the council", "the railway", "the landlord", "the bank", "the newspaper", "the brewery"], "x": "town", "r": ["a lost parcel", "unpaid wages", "a broken lease", "a false report", "a botched repair", "noise at night"], "y": "late"}, {
        "won": ("{a} won the suit over {r} against {b} in {x}", "{b} in {x} lost the suit that {a} brought over {r}", "the court found for {a} and against {b} in {x} over {r}", "{b} in {x} had to pay {a} after the verdict on {r}"),
        "lost": ("{a} lost the suit over {r} against {b} in {x}", "{b} in {x} won the suit that {a} brought over {r}", "the court found for {b} in {x} and against {a} over {r}", "{b} in {x} had to pay {a} nothing after the verdict on {r}"),
        "worked": ("{a} once worked for {b} in {x}", "{b} in {x} once employed {a}", "{a} used to be on the payroll of {b} in {x}"),
        "notworked": ("{a} never worked for {b} in {x}", "{b} in {x} never employed {a}", "{a} was at no time on the payroll of {b} in {x}"),
    }, "won ! lost, worked ! notworked", ("r",)),
]  # fmt: skip
