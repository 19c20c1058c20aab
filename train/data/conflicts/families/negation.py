"""Negation and antonyms: denials, double denials, 'failed to', 'refused', gradable opposites, and denials of something else."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import Story
from train.data.conflicts.names import Names

# base form, past, noun phrase of the object, verb and object of a different act by the same agent
ACTS = (
    ("sign", "signed", "the lease"), ("repay", "repaid", "the loan"), ("publish", "published", "the survey"), ("repair", "repaired", "the roof"), ("sell", "sold", "the farm"),
    ("answer", "answered", "the letter"), ("attend", "attended", "the hearing"), ("renew", "renewed", "the licence"), ("cancel", "cancelled", "the concert"), ("test", "tested", "the brakes"),
    ("inspect", "inspected", "the boiler"), ("return", "returned", "the manuscript"), ("deliver", "delivered", "the timber"), ("warn", "warned", "the neighbours"), ("paint", "painted", "the fence"),
    ("translate", "translated", "the poem"), ("check", "checked", "the accounts"), ("lock", "locked", "the gate"), ("hire", "hired", "the cook"), ("pay", "paid", "the fine"),
    ("visit", "visited", "the clinic"), ("finish", "finished", "the tunnel"), ("record", "recorded", "the interview"), ("clean", "cleaned", "the well"), ("replace", "replaced", "the engine"),
    ("announce", "announced", "the merger"), ("submit", "submitted", "the report"), ("restore", "restored", "the fresco"), ("plant", "planted", "the orchard"), ("open", "opened", "the safe"),
    ("load", "loaded", "the ship"), ("count", "counted", "the ballots"), ("mention", "mentioned", "the accident"), ("water", "watered", "the seedlings"), ("print", "printed", "the catalogue"),
    ("measure", "measured", "the glacier"), ("register", "registered", "the boat"), ("read", "read", "the verdict"), ("vaccinate", "vaccinated", "the herd"), ("drain", "drained", "the pond"),
)  # fmt: skip
DID = ("{e} {past} {o}", "{o} {be} {past} by {e}", "{e} did {base} {o}", "{e} managed to {base} {o}", "{e} did not fail to {base} {o}", "it is true that {e} {past} {o}",
       "it was {e} who {past} {o}", "{e} made sure to {base} {o}", "{e} never neglected to {base} {o}", "it is not the case that {e} failed to {base} {o}", "what {e} did was {base} {o}")  # fmt: skip
DIDNT = ("{e} did not {base} {o}", "{o} {be} not {past} by {e}", "{e} failed to {base} {o}", "{e} never {past} {o}", "{e} [neglected|omitted] to {base} {o}", "{e} was not able to {base} {o}",
         "it is untrue that {e} {past} {o}", "{e} left without having {past} {o}", "at no point did {e} {base} {o}", "it was not {e} who {past} {o}", "the claim that {e} {past} {o} is false")  # fmt: skip


def acts(names: Names, rng: Random) -> Scene:
    """One agent, two acts, each done or not: affirmation and denial in equal shares under each label."""
    (base, past, obj), (base2, past2, obj2) = rng.sample(ACTS, 2)
    agent = rng.choice((names.person(), names.company(), f"the {names.town()} [council|committee|cooperative]".replace("[council|committee|cooperative]", rng.choice(("council", "committee", "cooperative")))))
    other = names.person()
    owner = names.stem()
    tail = rng.choice(("", f" of the {owner} estate", f" in {names.town()}", f" at {names.street()}", f" in {rng.randint(1950, 2019)}", " before the deadline", " in time"))
    scene = Scene("negation_antonyms", "acts")
    for prefix, e, b, p, o in (("", agent, base, past, obj), ("other_act_", agent, base2, past2, obj2), ("other_agent_", other, base, past, obj), ("same_verb_", agent, base, past, obj2)):
        if prefix == "same_verb_" and (b, o) not in {("sign", "the letter"), ("check", "the roof"), ("check", "the boiler"), ("inspect", "the roof"), ("paint", "the roof"), ("clean", "the boiler"), ("clean", "the roof"),
                                                     ("inspect", "the farm"), ("visit", "the farm"), ("sell", "the boat"), ("sell", "the ship"), ("replace", "the gate"), ("repair", "the gate"), ("read", "the letter"),
                                                     ("mention", "the loan"), ("mention", "the merger"), ("publish", "the letter"), ("inspect", "the gate"), ("test", "the engine"), ("check", "the engine")}:  # fmt: skip
            continue
        be = "were" if o in ("the brakes", "the neighbours", "the accounts", "the ballots", "the seedlings") else "was"
        scene.add(f"{prefix}did", DID, e=e, base=b, past=p, o=o + tail, be=be)
        scene.add(f"{prefix}didnt", DIDNT, e=e, base=b, past=p, o=o + tail, be=be)
        scene.contradict((f"{prefix}did", f"{prefix}didnt"))
    return scene


# attribute, one side (plain and negated opposite), other side; each a predicate that follows "{e} is"
OPPOSITES = (
    (("the water of {x}", "the well of {x}"), ("drinkable", "safe to drink", "not unfit to drink"), ("undrinkable", "not safe to drink", "unfit to drink")),
    (("the {x} mine", "the {x} mill", "the {x} line"), ("profitable", "making money", "not running at a loss"), ("unprofitable", "losing money", "running at a loss")),
    (("the mushroom {x}", "the berry {x}"), ("edible", "harmless to eat", "not poisonous"), ("inedible", "poisonous", "not safe to eat")),
    (("the {x} verdict", "the {x} ruling"), ("final", "not open to appeal", "beyond appeal"), ("not final", "open to appeal", "provisional")),
    (("the {x} alloy", "the {x} wire"), ("magnetic", "attracted by magnets", "not free of magnetism"), ("non-magnetic", "not attracted by magnets", "free of magnetism")),
    (("the {x} bridge", "the {x} road"), ("passable", "open to traffic", "not blocked"), ("impassable", "closed to traffic", "blocked")),
    (("the {x} witness", "the driver {x}"), ("sober", "not drunk", "free of alcohol"), ("drunk", "not sober", "under the influence of alcohol")),
    (("the {x} bird", "the parrot {x}"), ("awake at night", "nocturnal", "active after dark"), ("asleep at night", "not nocturnal", "inactive after dark")),
    (("the {x} statue", "the {x} vase"), ("genuine", "authentic", "not a fake"), ("a forgery", "not authentic", "a fake")),
    (("the {x} harbour", "the {x} strait"), ("free of ice all winter", "ice-free in winter", "never frozen"), ("frozen in winter", "not ice-free in winter", "covered by ice every winter")),
    (("the {x} valley", "the {x} island"), ("inhabited", "home to people", "not deserted"), ("uninhabited", "without any people", "deserted")),
    (("the {x} protein", "the salt {x}"), ("soluble in water", "able to dissolve in water", "not insoluble in water"), ("insoluble in water", "unable to dissolve in water", "not soluble in water")),
    (("the {x} law", "the {x} decree"), ("still in force", "valid", "not repealed"), ("no longer in force", "repealed", "invalid")),
    (("the {x} theatre", "the {x} club"), ("solvent", "free of debt", "not in debt"), ("insolvent", "in debt", "not free of debt")),
    (("the {x} fabric", "the {x} clay"), ("waterproof", "impervious to water", "not permeable to water"), ("permeable to water", "not waterproof", "leaky")),
    (("the {x} orchestra", "the choir of {x}"), ("professional", "made up of paid musicians", "not an amateur body"), ("amateur", "made up of unpaid players", "not professional")),
    (("the {x} canal", "the river {x}"), ("navigable", "open to boats", "not too shallow for boats"), ("not navigable", "closed to boats", "too shallow for boats")),
    (("the {x} virus", "the {x} fever"), ("contagious", "passed from person to person", "not harmless to bystanders"), ("not contagious", "not passed from person to person", "non-contagious")),
    (("the {x} school", "the {x} college"), ("open to girls", "coeducational", "not for boys only"), ("for boys only", "not open to girls", "closed to girls")),
    (("the {x} volcano", "mount {x}"), ("active", "not extinct", "still erupting from time to time"), ("extinct", "not active", "never going to erupt again")),
    (("the {x} file", "the {x} archive"), ("secret", "classified", "not open to the public"), ("public", "not classified", "open to everyone")),
    (("the {x} tower", "the {x} castle"), ("intact", "undamaged", "not in ruins"), ("in ruins", "not intact", "ruined")),
    (("the {x} tyre", "the {x} paint"), ("flammable", "easy to set alight", "not fireproof"), ("fireproof", "not flammable", "impossible to set alight")),
    (("the {x} motion", "the {x} proposal"), ("accepted", "not rejected", "approved"), ("rejected", "not accepted", "thrown out")),
    (("the {x} bus", "the {x} train"), ("punctual", "on time every day", "never late"), ("late as a rule", "not punctual", "unpunctual")),
    (("the novel {x}", "the {x} diary"), ("complete", "finished", "not a fragment"), ("incomplete", "unfinished", "a fragment")),
    (("the {x} mayor", "the {x} umpire"), ("elected", "chosen by vote", "not appointed"), ("appointed", "not elected", "named without a vote")),
    (("the {x} satellite", "the {x} radio"), ("working", "in working order", "not out of order"), ("broken", "not working", "out of order")),
)  # fmt: skip
IS = ("{e} is {p}", "according to the {k}, {e} is {p}", "it is known that {e} is {p}", "{e}, [as the {k} notes|says the {k}], is {p}", "the {k} describes {e} as {p}", "{e} turns out to be {p}",
      "as far as anyone can tell, {e} is {p}", "the {k} confirms that {e} is {p}")  # fmt: skip
ISNT = ("it is not true that {e} is {p}", "{e} cannot be called {p}", "the {k} denies that {e} is {p}", "nobody would say that {e} is {p}", "{e} is anything but {p}", "contrary to rumour, {e} is not {p}")


def opposites(names: Names, rng: Random) -> Scene:
    """Two opposite predicates, each affirmed and denied, of a thing; the same of a second thing; another predicate of the first."""
    (subjects, good, bad), (_, good2, bad2) = rng.sample(OPPOSITES, 2)
    subject = rng.choice(subjects)
    first, second = (subject.format(x=f"{names.stem()}") for _ in range(2))
    source = rng.choice(("annual report", "guidebook", "inspector", "encyclopedia", "court file", "survey", "local paper", "handbook"))
    scene = Scene("negation_antonyms", "opposites")
    plain = {side: [p for p in predicates if not p.startswith("not ")] for side, predicates in (("good", good), ("bad", bad))}
    for prefix, e in (("", first), ("other_", second)):
        for side, opposite, predicates in (("good", "bad", good), ("bad", "good", bad)):
            scene.add(f"{prefix}{side}", IS, e=e, p=predicates, k=source)
            scene.add(f"{prefix}not_{opposite}", ISNT, e=e, p=plain[opposite], k=source)
            scene.support((f"{prefix}{side}", f"{prefix}not_{opposite}"))
        scene.contradict((f"{prefix}good", f"{prefix}bad"), (f"{prefix}good", f"{prefix}not_good"), (f"{prefix}bad", f"{prefix}not_bad"), (f"{prefix}not_good", f"{prefix}not_bad"))
    return scene


DECISIONS = [
    Story("motion", {"b": "org", "t": "town", "p": ["a new car ferry", "a ban on fireworks", "a second runway", "a tax on plastic bags", "the closure of the quarry", "a night bus", "a reservoir", "a toll road", "a skate park",
                                                 "the sale of the old mill", "longer shop hours", "a wind farm", "a curfew for cats"], "y": "late",
                     "q": ["school meals", "the town flag", "dog licences", "street lamps", "the fire brigade", "allotments"]}, {
        "yes": ("{b} [approved|backed|voted for] {p} in {t}", "{p} in {t} [won the approval of|was approved by] {b}", "{b} said yes to {p} in {t}", "the plan for {p} in {t} [was passed by|got through] {b}",
                "{b} did not reject {p} in {t}, it passed it", "{p} in {t} can go ahead after a vote of {b}", "{b} gave its consent to {p} in {t}"),
        "no": ("{b} [rejected|turned down|voted against] {p} in {t}", "{p} in {t} [failed to win the approval of|was rejected by] {b}", "{b} said no to {p} in {t}", "the plan for {p} in {t} [was thrown out by|did not get through] {b}",
               "{b} did not approve {p} in {t}, it blocked it", "{p} in {t} cannot go ahead after a vote of {b}", "{b} refused its consent to {p} in {t}"),
        "debated": ("{b} debated {q} on the same evening in {y}", "{q} came up at a sitting of {b} in {y}", "in {y} members of {b} talked about {q}"),
        "undebated": ("{b} did not debate {q} at any time in {y}", "{q} never came up at a sitting of {b} in {y}", "in {y} members of {b} did not talk about {q}"),
    }, "yes ! no, debated ! undebated", ("p",)),
    Story("appeal", {"e": "person", "y": "late", "x": ["fraud", "arson", "smuggling", "forgery", "poaching", "libel", "tax evasion", "burglary"], "c": "town", "f": "person"}, {
        "upheld": ("the court in {c} upheld the conviction of {e} for {x}", "{e} lost the appeal against a conviction for {x} in {c}", "in {c} the judges left the guilty verdict on {e} for {x} standing", "the appeal of {e} against the {x} verdict was dismissed in {c}"),
        "quashed": ("the court in {c} [quashed|overturned] the conviction of {e} for {x}", "{e} won the appeal against a conviction for {x} in {c}", "in {c} the judges threw out the guilty verdict on {e} for {x}", "the appeal of {e} against the {x} verdict was allowed in {c}", "{e} walked free after the appeal over {x} in {c}"),
        "spoke": ("{e} spoke to reporters outside the court in {c}", "outside the court in {c} {e} gave an interview", "reporters outside the court in {c} got a statement from {e}"),
        "silent": ("{e} refused to speak to reporters outside the court in {c}", "outside the court in {c} {e} said nothing to the press", "reporters outside the court in {c} got no statement from {e}"),
    }, "upheld ! quashed, spoke ! silent", ("e",)),
    Story("survive", {"x": "town", "k": ["manuscripts", "paintings", "tapestries", "vines", "photographs", "letters", "instruments", "trees", "boats"], "c": ["the fire", "the flood", "the storm", "the siege", "the earthquake"], "q": ["insured", "catalogued", "privately owned", "listed in a register"]}, {
        "lost": ("most of the {x} {k} were [lost in|destroyed by] {c}", "{c} destroyed most of the {x} {k}", "[few|hardly any] of the {x} {k} survived {c}", "the majority of the {x} {k} did not survive {c}", "only a handful of the {x} {k} came through {c}"),
        "kept": ("most of the {x} {k} [survived|came through] {c}", "{c} spared most of the {x} {k}", "[few|hardly any] of the {x} {k} were lost in {c}", "the majority of the {x} {k} were not lost in {c}", "{c} destroyed only a handful of the {x} {k}"),
        "ins": ("most of the {x} {k} were {q} before {c}", "before {c} the greater part of the {x} {k} were {q}", "[few|hardly any] of the {x} {k} were not {q} before {c}"),
        "unins": ("most of the {x} {k} were not {q} before {c}", "before {c} the greater part of the {x} {k} were not {q}", "[few|hardly any] of the {x} {k} were {q} before {c}"),
    }, "lost ! kept, ins ! unins", ("x",)),
    Story("offer", {"e": "company", "f": "company", "o": ["offer", "proposal", "apology", "complaint", "resignation", "invitation", "bribe", "gift"], "z": "person", "y": "late"}, {
        "took": ("{e} accepted the {o} from {f} in {y}", "in {y} the {o} from {f} was accepted by {e}", "{e} did not turn down the {o} from {f} in {y}", "{e} said yes to the {o} from {f} in {y}"),
        "refused": ("{e} refused the {o} from {f} in {y}", "in {y} the {o} from {f} was turned down by {e}", "{e} did not accept the {o} from {f} in {y}", "{e} said no to the {o} from {f} in {y}"),
        "known": ("the {o} from {f} was made public by {z}", "{z} told the press about the {o} from {f}", "it was {z} who revealed the {o} from {f}"),
        "hidden": ("the {o} from {f} was not made public by {z}", "{z} never told the press about the {o} from {f}", "it was not {z} who revealed the {o} from {f}"),
    }, "took ! refused, known ! hidden", ("f",)),
    Story("contain", {"x": "stem", "k": ["cheese", "cement", "soap", "ointment", "glaze", "bread", "beer", "varnish", "tablet"], "a,b": [("lead", "zinc"), ("sugar", "salt"), ("gluten", "egg"), ("alcohol", "caffeine"), ("chalk", "ash"), ("nickel", "tin"), ("sulphur", "iron")]}, {
        "with": ("{x} {k} contains {a}", "there is {a} in {x} {k}", "{a} is among the ingredients of {x} {k}", "{x} {k} is not free of {a}", "{x} {k} is made with {a}"),
        "without": ("{x} {k} contains no {a}", "there is no {a} in {x} {k}", "{a} is not among the ingredients of {x} {k}", "{x} {k} is free of {a}", "{x} {k} is made without any {a}"),
        "with2": ("{x} {k} contains {b}", "there is {b} in {x} {k}", "{b} is among the ingredients of {x} {k}", "{x} {k} is not free of {b}", "{x} {k} is made with {b}"),
        "without2": ("{x} {k} contains no {b}", "there is no {b} in {x} {k}", "{b} is not among the ingredients of {x} {k}", "{x} {k} is free of {b}", "{x} {k} is made without any {b}"),
    }, "with ! without, with2 ! without2", ("x",)),
    Story("able", {"x": "stem", "k": ["bird", "lizard", "beetle", "ape", "seal", "spider"], "a,a_ing": [("swim", "swimming"), ("fly", "flying"), ("climb", "climbing"), ("jump", "jumping"), ("dive", "diving")],
                   "b,b_ing": [("hear", "hearing"), ("sing", "singing"), ("see in the dark", "seeing in the dark"), ("change colour", "changing colour"), ("dig", "digging")]}, {
        "can": ("the {x} {k} can {a}", "the {x} {k} is [able to {a}|capable of {a_ing}]", "the {x} {k} does not lack the ability to {a}", "{a_ing} is within the powers of the {x} {k}"),
        "cant": ("the {x} {k} cannot {a}", "the {x} {k} is [unable to {a}|incapable of {a_ing}]", "the {x} {k} lacks the ability to {a}", "{a_ing} is beyond the powers of the {x} {k}"),
        "can2": ("the {x} {k} can {b}", "the {x} {k} is [able to {b}|capable of {b_ing}]", "the {x} {k} does not lack the ability to {b}", "{b_ing} is within the powers of the {x} {k}"),
        "cant2": ("the {x} {k} cannot {b}", "the {x} {k} is [unable to {b}|incapable of {b_ing}]", "the {x} {k} lacks the ability to {b}", "{b_ing} is beyond the powers of the {x} {k}"),
    }, "can ! cant, can2 ! cant2", ("x",)),
]  # fmt: skip
