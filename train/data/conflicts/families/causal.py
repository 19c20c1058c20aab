"""Causal and scientific statements: directions of effect, null results, mechanisms, conditions, comparisons."""

from __future__ import annotations

from random import Random

from train.data.conflicts.engine import Scene
from train.data.conflicts.families.stories import Story
from train.data.conflicts.names import Names

CAUSES = ("coffee", "the drug {x}", "the {x} diet", "night work", "the {x} vaccine", "regular walking", "green tea", "the fertiliser {x}", "smoking", "cold water", "vitamin {v}", "a salty diet", "the {x} exercise programme", "loud noise", "the hormone {x}",
          "shade", "the enzyme {x}", "deep ploughing", "early sowing", "the {x} feed", "music", "daylight", "road salt", "compost", "the herb {x}")  # fmt: skip
OUTCOMES = ("blood pressure", "the risk of stroke", "the yield of wheat", "the length of sleep", "body weight", "the number of headaches", "the level of sugar in the blood", "the growth of algae", "the speed of healing", "the risk of falls", "milk output",
            "reaction time", "bone density", "the death rate of bees", "the heart rate", "the acidity of the soil", "the loss of hair", "memory scores", "the rate of infection", "the number of eggs laid")  # fmt: skip
RAISES = ("{c} [raises|increases] {o} in {g}", "{o} [rises|goes up] in {g} under the influence of {c}", "in {g}, {c} leads to an increase in {o}", "{c} drives up {o} in {g}", "with {c}, {o} in {g} is higher", "an increase in {o} in {g} was [caused by|put down to] {c}",
          "{g} given {c} showed higher values for {o}")  # fmt: skip
LOWERS = ("{c} [lowers|reduces|decreases] {o} in {g}", "{o} [falls|goes down] in {g} under the influence of {c}", "in {g}, {c} leads to a decrease in {o}", "{c} brings down {o} in {g}", "with {c}, {o} in {g} is lower", "a decrease in {o} in {g} was [caused by|put down to] {c}",
          "{g} given {c} showed lower values for {o}")  # fmt: skip
NULL = ("{c} has no effect on {o} in {g}", "{o} in {g} [stays the same|does not change] with {c}", "in {g}, no link was found between {c} and {o}", "{c} is not associated with {o} in {g}", "{o} in {g} is independent of {c}", "{g} given {c} showed no change in {o}",
        "{c} neither raises nor lowers {o} in {g}")  # fmt: skip
SOME = ("{c} has an effect on {o} in {g}", "{o} in {g} changes with {c}", "in {g}, a link was found between {c} and {o}", "{c} is associated with {o} in {g}", "{o} in {g} depends on {c}")
GROUPS = ("adults", "children", "the {x} cohort", "pregnant women", "mice", "the {x} trial", "older men", "dairy cows", "the {x} study", "field plots in {x}", "patients in {x}", "athletes")


def _noun(options: tuple[str, ...], names: Names, rng: Random, avoid: str = "") -> str:
    while True:
        pick = rng.choice(options).format(x=names.stem(), v=rng.choice("ABCDEK"))
        if pick != avoid:
            return pick


def effects(names: Names, rng: Random) -> Scene:
    """Raises, lowers, no effect, some effect; other cause, other outcome, other group."""
    c, o, g = _noun(CAUSES, names, rng), _noun(OUTCOMES, names, rng), _noun(GROUPS, names, rng)
    c2, o2, g2 = _noun(CAUSES, names, rng, c), _noun(OUTCOMES, names, rng, o), _noun(GROUPS, names, rng, g)
    scene = Scene("causal_scientific", "effects")
    decoy = rng.sample(("cause", "outcome", "group"), 2)
    settings = {"": (c, o, g)} | {f"{d}_": {"cause": (c2, o, g), "outcome": (c, o2, g), "group": (c, o, g2)}[d] for d in decoy}
    for prefix, (cause, outcome, group) in settings.items():
        for key, patterns in (("raises", RAISES), ("lowers", LOWERS), ("null", NULL), ("some", SOME)):
            scene.add(prefix + key, patterns, c=cause, o=outcome, g=group)
        scene.exclusive(f"{prefix}raises", f"{prefix}lowers", f"{prefix}null")
        scene.contradict((f"{prefix}null", f"{prefix}some"))
        scene.support((f"{prefix}raises", f"{prefix}some"), (f"{prefix}lowers", f"{prefix}some"))
    return scene


DISEASES = ("{x} fever", "{x} disease", "{x} rot", "{x} syndrome", "{x} blight", "the {x} cough", "{x} palsy")
AGENTS = ("a virus", "a bacterium", "a fungus", "a parasite", "an inherited gene", "lead poisoning", "a lack of iodine", "a lack of vitamin B", "contaminated water", "mouldy grain", "a tick bite", "damaged nerves", "an excess of iron")
CAUSED = ("{d} is caused by {a}", "{a} is the cause of {d}", "{a} causes {d}", "people fall ill with {d} because of {a}", "{d} has its origin in {a}", "{a} is what brings on {d}", "the cause of {d} is {a}", "{d} is due to {a}, doctors found")
UNCAUSED = ("{d} is not caused by {a}", "{a} is not the cause of {d}", "{a} does not cause {d}", "{a} has nothing to do with {d}", "{d} does not have its origin in {a}", "{a} was ruled out as the cause of {d}")
CURES = ("{t} cures {d}", "{d} can be cured with {t}", "{t} is an effective treatment for {d}", "patients with {d} recover thanks to {t}", "{d} responds well to {t}")
FAILS = ("{t} does not cure {d}", "{d} cannot be cured with {t}", "{t} is of no use against {d}", "patients with {d} do not recover with {t}", "{d} does not respond to {t}")
TREATMENTS = ("penicillin", "a sulphur bath", "the drug {x}", "a course of steroids", "bed rest", "the {x} serum", "surgery", "light therapy", "the {x} ointment", "a gluten-free diet")


def causes(names: Names, rng: Random) -> Scene:
    """One disease, its cause and its cure against rivals and denials; another disease."""
    d, d2 = _noun(DISEASES, names, rng), _noun(DISEASES, names, rng)
    a, a2 = rng.sample(AGENTS, 2)
    t = _noun(TREATMENTS, names, rng)
    scene = Scene("causal_scientific", "causes")
    for prefix, disease in (("", d), ("other_", d2)):
        for name, agent in (("true", a), ("false", a2)):
            scene.add(f"{prefix}{name}", CAUSED, d=disease, a=agent)
            scene.add(f"{prefix}not_{name}", UNCAUSED, d=disease, a=agent)
            scene.contradict((f"{prefix}{name}", f"{prefix}not_{name}"))
        scene.contradict((f"{prefix}true", f"{prefix}false"))
        scene.support((f"{prefix}true", f"{prefix}not_false"), (f"{prefix}false", f"{prefix}not_true"))
        scene.add(f"{prefix}cures", CURES, d=disease, t=t)
        scene.add(f"{prefix}fails", FAILS, d=disease, t=t)
        scene.contradict((f"{prefix}cures", f"{prefix}fails"))
    return scene


SCIENCE = [
    Story("reaction", {"x": "stem", "c,c2": [("heating", "cooling"), ("stirring", "adding salt"), ("raising the pressure", "raising the temperature"), ("diluting the acid", "adding a catalyst"), ("shining light on it", "shaking it"), ("grinding the powder", "drying the powder")], "k": ["reaction", "fermentation", "decay", "crystallisation"]}, {
        "fast": ("{c} [speeds up|accelerates] the {x} {k}", "the {x} {k} runs faster after {c}", "{c} makes the {x} {k} go more quickly", "after {c} the {x} {k} takes less time"),
        "slow": ("{c} [slows down|retards] the {x} {k}", "the {x} {k} runs more slowly after {c}", "{c} makes the {x} {k} go less quickly", "after {c} the {x} {k} takes more time"),
        "fast2": ("{c2} [speeds up|accelerates] the {x} {k}", "the {x} {k} runs faster after {c2}", "{c2} makes the {x} {k} go more quickly", "after {c2} the {x} {k} takes less time"),
        "slow2": ("{c2} [slows down|retards] the {x} {k}", "the {x} {k} runs more slowly after {c2}", "{c2} makes the {x} {k} go less quickly", "after {c2} the {x} {k} takes more time"),
    }, "fast ! slow, fast2 ! slow2", ("x",)),
    Story("compare", {"x": "stem", "y": "stem", "s": ["sound", "light", "heat", "electricity", "water", "a shock wave"], "t": ["dyes", "radio waves", "neutrons", "bubbles"]}, {
        "faster": ("{s} [travels|moves] faster in {x} glass than in {y} glass", "the speed of {s} is higher in {x} glass than in {y} glass", "{s} is slower in {y} glass than in {x} glass", "{y} glass carries {s} less quickly than {x} glass"),
        "slower": ("{s} [travels|moves] faster in {y} glass than in {x} glass", "the speed of {s} is higher in {y} glass than in {x} glass", "{s} is slower in {x} glass than in {y} glass", "{x} glass carries {s} less quickly than {y} glass"),
        "same": ("the speed of {s} is the same in {x} glass and in {y} glass", "{s} [travels|moves] equally fast in {x} glass and {y} glass", "{x} glass and {y} glass carry {s} at one and the same speed"),
        "tfaster": ("{t} [travel|move] faster in {x} glass than in {y} glass", "the speed of {t} is higher in {x} glass than in {y} glass", "{t} are slower in {y} glass than in {x} glass"),
        "tslower": ("{t} [travel|move] faster in {y} glass than in {x} glass", "the speed of {t} is higher in {y} glass than in {x} glass", "{t} are slower in {x} glass than in {y} glass"),
    }, "faster ! slower, faster/slower ! same, tfaster ! tslower", ("y",)),
    Story("deficit", {"d": "stem", "n,m": [("iron", "zinc"), ("iodine", "calcium"), ("vitamin C", "vitamin D"), ("protein", "fat"), ("magnesium", "copper"), ("potassium", "sodium")], "g": ["goats", "infants", "sailors", "trout", "tomatoes", "horses"]}, {
        "lack": ("a lack of {n} causes {d} disease in {g}", "{d} disease in {g} comes from too little {n}", "{g} that get too little {n} develop {d} disease", "deficiency of {n} is behind {d} disease in {g}"),
        "excess": ("an excess of {n} causes {d} disease in {g}", "{d} disease in {g} comes from too much {n}", "{g} that get too much {n} develop {d} disease", "a surplus of {n} is behind {d} disease in {g}"),
        "need": ("{g} need {m} for growth", "without {m} {g} do not grow", "{m} is essential for the growth of {g}"),
        "noneed": ("{g} do not need {m} for growth", "even without {m} {g} grow", "{m} is of no importance for the growth of {g}"),
    }, "lack ! excess, need ! noneed", ("d",)),
    Story("vaccine", {"x": "stem", "g": ["nurses", "students", "farmers", "travellers", "toddlers", "soldiers"], "d": ["measles", "cholera", "influenza", "typhoid", "mumps", "rabies"], "s": ["headache", "fever", "a rash", "swelling"]}, {
        "works": ("the {x} vaccine protects {g} against {d}", "{g} given the {x} vaccine were less likely to catch {d}", "{d} became rarer among {g} with the {x} vaccine", "the {x} vaccine prevents {d} in {g}"),
        "useless": ("the {x} vaccine does not protect {g} against {d}", "{g} given the {x} vaccine were just as likely to catch {d}", "{d} was as common among {g} with the {x} vaccine as without", "the {x} vaccine fails to prevent {d} in {g}"),
        "side": ("the {x} vaccine brings on {s} in {g}", "{s} is a side effect of the {x} vaccine in {g}", "{g} got {s} from the {x} vaccine"),
        "noside": ("the {x} vaccine does not bring on {s} in {g}", "{s} is not a side effect of the {x} vaccine in {g}", "{g} got no {s} from the {x} vaccine"),
    }, "works ! useless, side ! noside", ("x",)),
    Story("property", {"x": "stem", "k": ["ore", "salt", "gas", "crystal", "resin", "plastic"], "p,np": [("conducts electricity", "does not conduct electricity"), ("dissolves in water", "does not dissolve in water"), ("burns in air", "does not burn in air"), ("glows in the dark", "does not glow in the dark"), ("rusts in damp air", "does not rust in damp air"), ("melts in boiling water", "stays solid in boiling water")],
                      "q,nq": [("floats on oil", "sinks in oil"), ("smells of almonds", "has no smell"), ("attracts dust", "repels dust"), ("breaks when dropped", "survives a fall"), ("turns blue in acid", "keeps its colour in acid")]}, {
        "p": ("{x} {k} {p}", "it is a property of {x} {k} that it {p}", "tests showed that {x} {k} {p}", "as a rule {x} {k} {p}"),
        "np": ("{x} {k} {np}", "it is a property of {x} {k} that it {np}", "tests showed that {x} {k} {np}", "as a rule {x} {k} {np}"),
        "q": ("{x} {k} {q}", "it is a property of {x} {k} that it {q}", "tests showed that {x} {k} {q}", "as a rule {x} {k} {q}"),
        "nq": ("{x} {k} {nq}", "it is a property of {x} {k} that it {nq}", "tests showed that {x} {k} {nq}", "as a rule {x} {k} {nq}"),
    }, "p ! np, q ! nq", ("x",)),
    Story("because", {"x": "town", "e,c,c2": [("the bridge at {x} collapsed", "a ship had struck it", "frost had cracked it"), ("the harvest around {x} failed", "of drought", "of hail"), ("the {x} bank closed", "its loans went bad", "its owners died"), ("the herd at {x} died", "the well was poisoned", "a fever had spread"),
                                        ("the {x} train was late", "of a fallen tree", "of a signal fault"), ("the {x} match was stopped", "of fog", "of a riot")], "q,nq": [("nobody was hurt", "people were hurt"), ("the insurers paid", "the insurers did not pay"), ("an inquiry was held", "no inquiry was held")]}, {
        "why": ("{e} because {c}", "it was because {c} that {e}", "that {e} was only because {c}", "the reason why {e} was simple: because {c}"),
        "why2": ("{e} because {c2}", "it was because {c2} that {e}", "that {e} was only because {c2}", "the reason why {e} was simple: because {c2}"),
        "q": ("when {e}, {q}", "{q} when {e}", "afterwards it was clear that when {e}, {q}"),
        "nq": ("when {e}, {nq}", "{nq} when {e}", "afterwards it was clear that when {e}, {nq}"),
    }, "why ! why2, q ! nq", ("x",)),
]  # fmt: skip
