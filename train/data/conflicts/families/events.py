"""Life cycles: for each kind of thing, its events in order, each with many wordings. `{e}` is the thing, `{when}` a date phrase.

Shared by the families that ask about dates, periods and completed or denied events.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from train.data.conflicts.names import Names

Cycle = list[tuple[str, tuple[str, ...]]]

BUILDING: Cycle = [
    ("proposed", (
        "the idea of building {e} was first put forward {when}",
        "{e} was first [proposed|suggested] {when}",
        "[plans|the first plans] for {e} were [published|made public|drawn up] {when}",
        "it was {when} that {e} was first proposed",
        "{when}, [an engineer|a local architect|the county surveyor] put forward the first plan for {e}",
    )),
    ("approved", (
        "[the council|the county|the city] approved [the construction of|the building of] {e} {when}",
        "{e} received planning permission {when}",
        "permission to build {e} was [granted|given] {when}",
        "{when} [the authorities|the board] gave [their consent to|the go-ahead for] {e}",
        "approval for {e} came {when}",
        "funding and approval for {e} were secured {when}",
    )),
    ("begun", (
        "construction of {e} [began|started|got under way] {when}",
        "[work|building work] on {e} [began|started] {when}",
        "the foundation stone of {e} was laid {when}",
        "{when}, builders [broke ground on|started work on] {e}",
        "ground was broken for {e} {when}",
        "{e} has been under construction since the first stone was laid {when}",
    )),
    ("opened", (
        "{e} [opened|opened to the public|was opened|was inaugurated] {when}",
        "the [opening|inauguration] of {e} took place {when}",
        "{when}, {e} [opened its doors|was opened to the public|received its first visitors]",
        "[the doors of {e} first opened|{e} welcomed its first visitors] {when}",
        "it was {when} that {e} [opened|was inaugurated]",
        "the ribbon at {e} was cut {when}",
        "[people|the public] could use {e} for the first time {when}",
        "{e}, [which cost more than planned|long awaited by the townspeople|designed by a local firm], opened {when}",
        "{e} was not open before its inauguration {when}",
    )),
    ("extended", (
        "{e} was [extended|enlarged|expanded] {when}",
        "an extension to {e} was [completed|finished] {when}",
        "{when} [a new wing|an annexe] was added to {e}",
        "the [enlargement|expansion] of {e} was finished {when}",
        "it took until the works ended {when} for {e} to be enlarged",
    )),
    ("closed", (
        "{e} [closed|shut|was closed for good|ceased to operate] {when}",
        "the closure of {e} came {when}",
        "{when}, {e} [shut its doors for good|closed down|closed permanently]",
        "{e} has been out of use since it closed {when}",
        "the last day of {e} fell {when}",
    )),
    ("demolished", (
        "{e} was [demolished|torn down|pulled down|razed] {when}",
        "[wreckers|a demolition crew] pulled down {e} {when}",
        "the demolition of {e} took place {when}",
        "{when}, {e} was knocked down",
        "nothing was left of {e} after it was razed {when}",
    )),
]
PERSON: Cycle = [
    ("born", (
        "{e} was born {when}", "{e}'s birth was recorded {when}", "{e}, [the second of five children|an only child], was born {when}",
        "the birth of {e} took place {when}", "{when}, {e} came into the world", "{e} first saw the light of day {when}",
    )),
    ("graduated", (
        "{e} [graduated|took a degree|finished university] {when}", "{e}'s graduation from university was {when}",
        "{when}, {e} [completed a degree|received a diploma]", "{e} left university with a degree {when}",
        "the university awarded {e} a degree {when}",
    )),
    ("married", (
        "{e} [married|got married|wed] {when}", "{e}'s wedding [took place|was held] {when}", "the wedding of {e} was celebrated {when}",
        "{when}, {e} [married a colleague|got married in a small chapel]", "{e} tied the knot {when}",
    )),
    ("debut", (
        "{e} [made a debut on stage|first appeared on stage] {when}", "the stage debut of {e} came {when}",
        "{when}, {e} gave a first public performance", "audiences first saw {e} on stage {when}",
        "{e}'s first public performance was {when}",
    )),
    ("emigrated", (
        "{e} emigrated {when}", "{e} left the country for good {when}", "{when}, {e} [moved abroad|settled abroad]",
        "{e}'s emigration dates from the voyage made {when}", "{e} boarded a ship and emigrated {when}",
    )),
    ("retired", (
        "{e} retired {when}", "{e} [gave up work|stepped back from working life] {when}", "{e}'s retirement [began|came] {when}",
        "{when}, {e} [went into retirement|stopped working for good]", "{e} entered retirement {when}",
    )),
    ("died", (
        "{e} [died|passed away] {when}", "the death of {e} occurred {when}", "{e}'s death came {when}",
        "{when}, {e} died [at home|after a short illness|in hospital]", "{e}, mourned by many, passed away {when}",
    )),
]
TREATY: Cycle = [
    ("negotiated", (
        "[negotiations|talks] on {e} [began|opened|started] {when}", "{when}, envoys [sat down|met] to begin negotiating {e}",
        "the first round of talks on {e} was held {when}", "the negotiation of {e} began {when}",
    )),
    ("signed", (
        "{e} was [signed|concluded] {when}", "the signing of {e} took place {when}", "{when}, the parties [signed|put their names to] {e}",
        "delegates put their signatures to {e} {when}", "{e} bears signatures that were put to it {when}", "it was {when} that {e} was signed",
    )),
    ("ratified", (
        "{e} was ratified {when}", "[parliament|the senate] ratified {e} {when}", "ratification of {e} [followed|was completed] {when}",
        "{when}, {e} was ratified by the last of its signatories",
    )),
    ("force", (
        "{e} [entered into force|came into force|took effect|became binding] {when}", "{when}, {e} took legal effect",
        "the provisions of {e} became law {when}", "{e} was not in force before it took effect {when}",
    )),
    ("denounced", (
        "{e} was [denounced|terminated|revoked] {when}", "[one of the signatories|the larger signatory] withdrew from {e} {when}",
        "{when}, {e} was formally terminated", "{e} ceased to bind the parties when it was denounced {when}",
    )),
]
WORK: Cycle = [
    ("written", (
        "{e} was [written|drafted] {when}", "the author [finished|completed] the manuscript of {e} {when}",
        "{when}, the last page of {e} was written", "the manuscript of {e} was completed {when}",
    )),
    ("published", (
        "{e} was [published|first published|brought out] {when}", "the first edition of {e} [appeared|came out|went on sale] {when}",
        "{when}, {e} [appeared in print|reached the bookshops]", "publication of {e} took place {when}", "readers could first buy {e} {when}",
        "{e} saw its first edition {when}",
    )),
    ("translated", (
        "{e} was first translated {when}", "a [French|Spanish|Danish] translation of {e} appeared {when}",
        "{when}, {e} came out in translation", "the first translation of {e} was issued {when}",
    )),
    ("filmed", (
        "{e} was [filmed|made into a film|adapted for the screen] {when}", "a film version of {e} [was released|reached cinemas] {when}",
        "{when}, a screen adaptation of {e} was released", "the film of {e} came out {when}",
    )),
    ("prize", (
        "{e} won [a literary prize|a national book award] {when}", "{when}, {e} was awarded a prize",
        "a jury gave {e} its prize {when}", "the award of a prize to {e} came {when}",
    )),
]
COMPANY: Cycle = [
    ("founded", (
        "{e} was [founded|established|set up|started] {when}", "the founding of {e} dates back to a meeting held {when}",
        "{when}, [two brothers|three engineers|a group of farmers] [founded|set up] {e}", "{e} came into being {when}",
        "{e} has existed since it was founded {when}", "the [establishment|foundation] of {e} took place {when}",
    )),
    ("listed", (
        "{e} [went public|was listed on the stock exchange|floated its shares] {when}", "shares in {e} [began trading|were first sold to the public] {when}",
        "{when}, {e} joined the stock exchange", "the stock market listing of {e} came {when}",
    )),
    ("moved", (
        "{e} moved [its headquarters|its head office] {when}", "{when}, {e} [relocated|moved to new premises]",
        "the relocation of {e} took place {when}", "{e} changed its address {when}",
    )),
    ("merged", (
        "{e} [merged with a rival|was taken over|was acquired by a competitor] {when}", "the takeover of {e} [was completed|went through] {when}",
        "{when}, a larger firm [bought|swallowed up] {e}", "{e} lost its independence in a takeover {when}",
    )),
    ("bankrupt", (
        "{e} [went bankrupt|collapsed|became insolvent] {when}", "the bankruptcy of {e} was declared {when}",
        "{when}, {e} [filed for bankruptcy|went under]", "{e} ran out of money and folded {when}",
    )),
]
PRODUCT: Cycle = [
    ("announced", (
        "{e} was [announced|unveiled|first shown to the press] {when}", "{when}, the makers of {e} unveiled it",
        "the [announcement|unveiling] of {e} took place {when}", "news of {e} was first made public {when}",
    )),
    ("released", (
        "{e} [was released|went on sale|reached the shops|came on the market] {when}", "the release of {e} took place {when}",
        "{when}, {e} [shipped|became available]", "buyers could get {e} for the first time {when}", "sales of {e} began {when}",
        "{e} could not be bought before its launch {when}",
    )),
    ("recalled", (
        "{e} was recalled [over a fault|for safety reasons] {when}", "{when}, the makers recalled {e}", "a recall of {e} was ordered {when}",
        "owners of {e} were told to return it {when}",
    )),
    ("discontinued", (
        "{e} was [discontinued|withdrawn from sale|taken off the market] {when}", "production of {e} [ended|stopped] {when}",
        "{when}, the last {thing} left the production line", "the makers gave up {e} {when}", "{e} went out of production {when}",
    )),
]
CLUB: Cycle = [
    ("founded", (
        "{e} was [founded|formed|set up] {when}", "{when}, [railway workers|schoolteachers|dock hands] founded {e}",
        "the founding of {e} goes back to a meeting {when}", "{e} played no matches before it was formed {when}",
        "the formation of {e} took place {when}",
    )),
    ("title", (
        "{e} won [its first championship|its first title] {when}", "{when}, {e} became champions for the first time",
        "the first league title of {e} came {when}", "{e} lifted a championship trophy for the first time {when}",
    )),
    ("stadium", (
        "{e} moved into [its present|a new] stadium {when}", "{when}, {e} played a first match in its new ground",
        "the new ground of {e} was inaugurated {when}", "{e} left its old pitch for a new stadium {when}",
    )),
    ("relegated", (
        "{e} was relegated {when}", "{when}, {e} [dropped to|went down to] the second division", "relegation came for {e} {when}",
        "{e} lost its place in the top division {when}",
    )),
]
DISCOVERY: Cycle = [
    ("discovered", (
        "{e} was [discovered|first observed|found] {when}", "the discovery of {e} [dates from an expedition|was made] {when}",
        "{when}, [a young astronomer|an amateur|a survey team] discovered {e}", "{e} was unknown to science until it was found {when}",
        "scientists first noticed {e} {when}",
    )),
    ("described", (
        "{e} was [formally described|described in print] {when}", "a scientific description of {e} appeared {when}",
        "{when}, {e} was given its official name", "the naming of {e} took place {when}",
    )),
    ("photographed", (
        "{e} was first photographed {when}", "the earliest photograph of {e} was taken {when}", "{when}, {e} was caught on camera for the first time",
        "nobody had photographed {e} before the picture taken {when}",
    )),
]

BUILDING_KINDS = """bridge museum library tunnel theatre lighthouse dam hospital stadium brewery observatory canal school aqueduct
funicular swimming-pool cinema station pier monastery concert-hall power-station""".replace("-", "_").split()  # fmt: skip
PRODUCT_KINDS = ["camera", "tractor", "scooter", "tablet", "sedan", "synthesiser", "watch", "printer", "console", "radio"]
SPECIES_KINDS = ["comet", "asteroid", "orchid", "beetle", "frog", "cave", "fungus", "moss", "gecko", "shipwreck", "fossil"]


def _building(names: Names, rng: Random) -> tuple[str, str]:
    kind = rng.choice(BUILDING_KINDS).replace("_", " ")
    return names.place(kind), kind


def _product(names: Names, rng: Random) -> tuple[str, str]:
    kind = rng.choice(PRODUCT_KINDS)
    return f"the {names.stem()} {rng.choice(('', '', '200 ', '4 ', 'Mark II '))}{kind}", kind


def _treaty(names: Names, rng: Random) -> tuple[str, str]:
    return rng.choice((f"the Treaty of {names.town()}", f"the {names.town()} accord", f"the {names.town()} convention")), "treaty"


def _club(names: Names, rng: Random) -> tuple[str, str]:
    tail = rng.choice(["Rovers", "United", "Athletic", "Town", "Wanderers", "rowing club", "hockey club", "cricket club"])
    return f"{'the ' if tail[0].islower() else ''}{names.town()} {tail}", "club"


CYCLES: dict[str, tuple[Cycle, Callable[[Names, Random], tuple[str, str]], int]] = {
    # kind: events, maker of (name, noun), typical years between events
    "building": (BUILDING, _building, 4),
    "person": (PERSON, lambda names, rng: (names.person(), "person"), 9),
    "treaty": (TREATY, _treaty, 3),
    "work": (WORK, lambda names, rng: (names.title(), "book"), 4),
    "company": (COMPANY, lambda names, rng: (names.company(), "firm"), 9),
    "product": (PRODUCT, _product, 2),
    "club": (CLUB, _club, 8),
    "discovery": (DISCOVERY, lambda names, rng: (f"the {names.stem()} {(kind := rng.choice(SPECIES_KINDS))}", kind), 5),
}
