"""Paraphrase at high and low overlap: the same happening in other words, and near twins that differ in one content word."""

from __future__ import annotations

from train.data.conflicts.families.stories import Story

REWORDING = [
    Story("staff", {"e": "company", "f,d": [("a third of", "one in three of"), ("half of", "every second one of"), ("a quarter of", "one in four of"), ("two thirds of", "two in three of")], "c,cc": [("sales collapsed", "a collapse in sales"), ("a fire", "a blaze"), ("the merger", "joining forces with a rival"), ("the strike", "the walkout")], "o": ["offices", "lorries", "shops", "warehouses"]}, {
        "fired": ("{e} let {f} its staff go after {c}", "{e} laid off {d} its employees because of {cc}", "{cc} cost {d} the people at {e} their jobs", "after {c} {f} the workforce of {e} was dismissed", "following {cc}, {d} the workers at {e} found themselves unemployed"),
        "kept": ("{e} let none of its staff go after {c}", "{e} kept all its employees in spite of {cc}", "{cc} cost nobody at {e} a job", "after {c} the workforce of {e} stayed the same", "despite {cc}, every worker at {e} remained employed"),
        "sold": ("{e} let {f} its {o} go after {c}", "{e} disposed of {d} its {o} because of {cc}", "after {c} {f} the {o} of {e} were sold"),
        "held": ("{e} let none of its {o} go after {c}", "{e} kept all its {o} in spite of {cc}", "after {c} not one of the {o} of {e} was sold"),
    }, "fired ! kept, sold ! held", ("e",)),
    Story("burned", {"e": "person", "o,oo": [("the manuscript of a second novel", "the draft of the book after the first"), ("the letters from an aunt", "everything an aunt had written"), ("the plans of the chapel", "the drawings for the chapel"), ("a diary from the war", "the notes kept in wartime"), ("a box of negatives", "a case full of old film")], "q": ["a wooden chair", "the garden shed", "an old coat", "the bills from the doctor"], "t": "town"}, {
        "burn": ("{e} burned {o} in {t}", "in {t} {e} threw {oo} into the fire", "{oo} went up in flames in {t} by the hand of {e}", "what {e} gave to the flames in {t} was {o}", "{e} set light to {oo} while in {t}"),
        "kept": ("{e} kept {o} safe in {t}", "in {t} {e} locked {oo} away where no fire could reach", "{oo} survived in {t} thanks to {e}", "what {e} saved from the flames in {t} was {o}", "{e} looked after {oo} while in {t}"),
        "burn2": ("{e} burned {q} in {t}", "in {t} {e} threw {q} into the fire", "what {e} gave to the flames in {t} was {q}"),
        "kept2": ("{e} kept {q} safe in {t}", "in {t} {e} locked {q} away where no fire could reach", "what {e} saved from the flames in {t} was {q}"),
    }, "burn ! kept, burn2 ! kept2, burn ? kept2", ("e",)),
    Story("supply", {"x": "town", "s,ss": [("drinking water", "what comes from its taps"), ("electricity", "its power"), ("bread", "its loaves"), ("milk", "its dairy supplies"), ("salt", "its seasoning")], "w,v": [("one well", "several springs"), ("one mill", "mills abroad"), ("one farm", "a chain of farms"), ("one works", "three works")], "q": ["winter fuel", "mail", "building stone", "fresh fish"]}, {
        "one": ("{x} relies on {w} for all its {s}", "all the {s} used in {x} comes from {w}", "without {w} {x} would have no {s}", "{x} gets {ss} entirely from {w}", "{w} alone provides {x} with {s}"),
        "many": ("{x} relies on {v} for all its {s}", "all the {s} used in {x} comes from {v}", "without {v} {x} would have no {s}", "{x} gets {ss} entirely from {v}", "nothing but {v} provides {x} with {s}"),
        "qone": ("{x} relies on one road for all its {q}", "all the {q} used in {x} comes by one road", "without that one road {x} would have no {q}"),
        "qmany": ("{x} does not rely on one road for all its {q}", "the {q} used in {x} comes by several roads", "even without the main road {x} would have its {q}"),
    }, "one ! many, qone ! qmany", ("x",)),
    Story("prices", {"x": "town", "g,gg": [("bread", "loaves"), ("coal", "fuel for the stove"), ("rents", "the cost of a flat"), ("butter", "what people put on bread"), ("tram fares", "the cost of a tram ride")], "y": "middle", "z": "late"}, {
        "up": ("the price of {g} rose faster than wages in {x} in {y}", "in {y} people in {x} could afford less and less of it: {gg}", "in {x} pay lagged behind the price of {g} during {y}", "over {y} earnings in {x} did not keep up with the price of {g}"),
        "down": ("the price of {g} rose more slowly than wages in {x} in {y}", "in {y} people in {x} could afford more and more of it: {gg}", "in {x} pay ran ahead of the price of {g} during {y}", "over {y} earnings in {x} outpaced the price of {g}"),
        "up2": ("the price of {g} rose faster than wages in {x} in {z}", "in {z} people in {x} could afford less and less of it: {gg}", "in {x} pay lagged behind the price of {g} during {z}", "over {z} earnings in {x} did not keep up with the price of {g}"),
        "down2": ("the price of {g} rose more slowly than wages in {x} in {z}", "in {z} people in {x} could afford more and more of it: {gg}", "in {x} pay ran ahead of the price of {g} during {z}", "over {z} earnings in {x} outpaced the price of {g}"),
    }, "up ! down, up2 ! down2", ()),
    Story("learned", {"e": "person", "x": "town", "n,nn": [("the land sale", "the deal over the plots"), ("the closure of the mill", "the end of the mill"), ("the wedding", "the marriage"), ("the verdict", "the ruling of the judge"), ("the epidemic", "the outbreak")], "q": ["lend money", "leave a party", "buy a motor car", "vote"]}, {
        "last": ("{e} was the last in {x} to hear of {n}", "everyone in {x} knew about {nn} before {e} did", "nobody in {x} learned of {n} later than {e}", "when {e} found out about {nn}, all of {x} had known it already"),
        "first": ("{e} was the first in {x} to hear of {n}", "nobody in {x} knew about {nn} before {e} did", "no one in {x} learned of {n} sooner than {e}", "when {e} found out about {nn}, the rest of {x} knew nothing of it"),
        "qlast": ("{e} was the last in {x} to {q}", "everyone in {x} would {q} sooner than {e}", "no one in {x} came after {e} when it was time to {q}"),
        "qfirst": ("{e} was the first in {x} to {q}", "nobody in {x} would {q} sooner than {e}", "no one in {x} came before {e} when it was time to {q}"),
    }, "last ! first, qlast ! qfirst", ("e",)),
    Story("death", {"e": "person", "x": "town", "p,pp": [("in sleep", "while slumbering"), ("at sea", "on board a ship"), ("in battle", "as a soldier under fire"), ("of old age", "because the years had worn the body out"), ("in prison", "behind bars")], "o,oo": [("in a duel", "by an opponent's pistol"), ("on the gallows", "at the hands of the hangman"), ("in a car crash", "as a road accident victim"), ("in an avalanche", "under a mass of snow")]}, {
        "way": ("{e} of {x} died {p}", "death came to {e} of {x} {pp}", "{e} of {x} passed away {pp}", "the life of {e} of {x} ended {p}", "{e}, who lived in {x}, met death {pp}"),
        "other": ("{e} of {x} died {o}", "death came to {e} of {x} {oo}", "{e} of {x} passed away {oo}", "the life of {e} of {x} ended {o}", "{e}, who lived in {x}, met death {oo}"),
        "rich": ("{e} of {x} left a fortune to charity", "charity inherited a fortune from {e} of {x}", "in the will of {e} of {x} a fortune went to charity"),
        "poor": ("{e} of {x} left nothing to charity", "charity inherited nothing from {e} of {x}", "in the will of {e} of {x} nothing went to charity"),
    }, "way ! other, rich ! poor", ("e",)),
    Story("weatherdamage", {"x": "town", "s,ss": [("the storm", "violent winds"), ("the frost", "freezing temperatures"), ("the hail", "falling ice"), ("the drought", "months without rain"), ("the locusts", "swarms of insects")], "c,cc": [("wheat", "grain"), ("grapes", "vines"), ("apples", "orchards"), ("olives", "olive groves"), ("potatoes", "root crops")], "y": "middle"}, {
        "ruin": ("{s} of {y} [ruined|destroyed] the {c} around {x}", "around {x} {ss} wiped out the {cc} in {y}", "in {y} farmers near {x} lost their {c} to {ss}", "the {cc} around {x} fell victim to {s} of {y}", "nothing was left of the {c} around {x} after {s} of {y}"),
        "spare": ("{s} of {y} spared the {c} around {x}", "around {x} {ss} did no harm to the {cc} in {y}", "in {y} farmers near {x} saved their {c} from {ss}", "the {cc} around {x} came through {s} of {y} unharmed", "not a thing was lost of the {c} around {x} in {s} of {y}"),
        "roofs": ("{s} of {y} damaged the station of {x}", "in {y} the station of {x} suffered from {ss}", "the station of {x} was a victim of {s} of {y}"),
        "noroofs": ("{s} of {y} did not damage the station of {x}", "in {y} the station of {x} did not suffer from {ss}", "the station of {x} escaped {s} of {y}"),
    }, "ruin ! spare, roofs ! noroofs", ("x",)),
    Story("trade", {"e": "person", "t,tt": [("bees", "honey-makers"), ("dogs", "hounds"), ("pigeons", "carrier birds"), ("horses", "mounts"), ("rats", "rodents")], "s,ss": [("tell colours apart", "distinguish hues"), ("find their way home", "return to where they started"), ("count to four", "deal with small numbers"), ("recognise faces", "know one person from another")], "q": ["sleep by day", "climb a ladder", "open a box"]}, {
        "taught": ("{e} trained {t} to {s}", "{e} taught {tt} how to {ss}", "under {e} {t} learned to {s}", "thanks to training by {e}, {tt} could {ss}", "the {t} of {e} were taught to {s}"),
        "failed": ("{e} was unable to train {t} to {s}", "{e} never got {tt} to {ss}", "under {e} {t} did not learn to {s}", "despite training by {e}, {tt} could not {ss}", "the {t} of {e} could not be taught to {s}"),
        "q": ("{e} trained {t} to {q}", "{e} taught {tt} how to {q}", "under {e} {t} learned to {q}"),
        "nq": ("{e} was unable to train {t} to {q}", "{e} never got {tt} to {q}", "under {e} {t} did not learn to {q}"),
    }, "taught ! failed, q ! nq", ("e",)),
    Story("quarrel", {"a": "person", "b": "person", "i,ii": [("money", "finances"), ("religion", "matters of faith"), ("the inheritance", "who should inherit"), ("politics", "affairs of state"), ("a fence", "a boundary between gardens")], "y": "late", "q": ["sail", "cook", "paint", "hunt"]}, {
        "fell": ("{a} and {b} fell out over {i} in {y}", "in {y} {ii} ended the friendship of {a} and {b}", "{a} stopped speaking to {b} in {y} because of {i}", "a quarrel about {ii} drove {a} and {b} apart in {y}"),
        "agreed": ("{a} and {b} were of one mind over {i} in {y}", "in {y} {ii} could not harm the friendship of {a} and {b}", "{a} went on speaking to {b} throughout {y} in full agreement on {i}", "no quarrel about {ii} came between {a} and {b} in {y}"),
        "q": ("{a} taught {b} to {q} in {y}", "in {y} {b} learned to {q} from {a}", "it was {a} who showed {b} how to {q} in {y}"),
        "nq": ("{a} did not teach {b} to {q} in {y}", "in {y} {b} refused to learn to {q} from {a}", "it was not {a} who showed {b} how to {q} in {y}"),
    }, "fell ! agreed, q ! nq, fell ? q", ("b",)),
    Story("crowd", {"x": "town", "e,ee": [("the concert", "the evening of music"), ("the match", "the game"), ("the auction", "the sale"), ("the lecture", "the talk"), ("the parade", "the march")], "d": ["Monday", "Friday", "Sunday"], "p": "person"}, {
        "full": ("{e} in {x} on {d} was sold out", "there was not a free seat at {ee} in {x} on {d}", "every place at {e} in {x} was taken on {d}", "latecomers were turned away from {ee} in {x} on {d}, so full was it"),
        "empty": ("{e} in {x} on {d} was poorly attended", "there were rows of free seats at {ee} in {x} on {d}", "hardly a place at {e} in {x} was taken on {d}", "almost nobody turned up for {ee} in {x} on {d}"),
        "opened": ("{p} opened {e} in {x} on {d}", "{e} in {x} on {d} was opened by {p}", "on {d} the opening words at {ee} in {x} came from {p}"),
        "notopened": ("{p} did not open {e} in {x} on {d}", "{e} in {x} on {d} was opened by somebody other than {p}", "on {d} the opening words at {ee} in {x} did not come from {p}"),
    }, "full ! empty, opened ! notopened", ("d",)),
]  # fmt: skip
