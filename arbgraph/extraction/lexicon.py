"""Closed word classes that the syntactic extractor relies on."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


BE = words("is are was were be been being 's 're am")
BE_FINITE = words("is are was were")
SUBJECT_DEPS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
FINITE_TAGS = frozenset({"VBD", "VBZ", "VBP", "MD"})
VERB_TAGS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})

# A clause under one of these is not asserted, or only under that condition.
CONDITIONAL_MARKS = words(
    """
    if unless until till whether provided providing assuming suppose once when whenever except lest because although
    """
)
DISJUNCTIONS = words("or nor either neither")
EMPTY_QUANTIFIERS = words("no neither few none nobody nothing hardly scarcely only nor either")

# Adverbs that weaken a predicate; what they reach in a coordination is open.
HEDGES = words(
    """
    allegedly reportedly supposedly purportedly apparently seemingly presumably possibly perhaps maybe probably likely potentially
    ostensibly rumoredly hypothetically theoretically almost nearly hardly barely never rarely seldom only mainly mostly usually
    often sometimes
    """
)
# Verbs that put what follows into someone's mouth or mind.
REPORTING = words(
    """
    say says said tell tells told claim claims claimed deny denies denied state states stated report reports reported argue argues
    argued believe believes believed think thinks thought suggest suggests suggested allege alleges alleged announce announces
    announced add adds added explain explains explained insist insists insisted warn warns warned note notes noted write writes
    wrote hope hopes hoped fear fears feared expect expects expected doubt doubts doubted assume assumes assumed suspect suspects
    suspected admit admits admitted confirm confirms confirmed declare declares declared estimate estimates estimated predict
    predicts predicted promise promises promised conclude concludes concluded ask asks asked wonder wonders wondered reply replies
    replied rumour rumours rumor rumors rumoured rumored imagine imagined pretend pretends pretended feel feels felt consider
    considers considered propose proposes proposed want wants wanted wish wishes wished
    """
)
ATTITUDES = words(
    """
    think believe hope know feel love like want wish guess suppose wonder hate prefer agree recommend enjoy thought felt loved liked
    wanted hoped honestly personally
    """
)
# Openers that tie a sentence to the one before it and say nothing themselves.
CONNECTIVES = words(
    """
    however moreover furthermore therefore thus hence additionally consequently nevertheless nonetheless besides meanwhile also
    indeed instead similarly likewise accordingly finally overall and but so yet still
    """
)
# "..., which brought ...": the pronoun may stand for the whole sentence before it.
SENTENTIAL_VERBS = words(
    """
    bring brings brought mean means meant lead leads led make makes made cause causes caused please pleases pleased allow allows
    allowed help helps helped give gives gave result results resulted surprise surprises surprised force forces forced show shows
    showed raise raises raised enable enables enabled leave leaves left take takes took put puts increase increases increased reduce
    reduces reduced suggest suggests create creates created let lets turn turns turned prompt prompts prompted require requires
    required
    """
)
# "Located in the hills, the town has ...": a state, so it keeps the tense of the sentence.
STATIVE_PARTICIPLES = words(
    """
    located situated used known based named bordered surrounded considered dedicated set found nicknamed called titled
    """
)
# Without an object these are passive, whatever the tagger says ("was born in Oslo and raised in Bergen").
PASSIVE_PARTICIPLES = words(
    """
    raised educated brought named renamed ordained appointed elected built rebuilt used known awarded given buried crowned
    knighted destroyed demolished restored converted listed designated considered called replaced dedicated commissioned published
    released produced directed repaired renovated disbanded abolished enlarged closed reopened cancelled canceled discontinued
    inducted baptised baptized arrested executed sentenced promoted transferred discharged licensed incorporated established
    founded completed added removed included
    """
)
# These keep an object in the passive ("was renamed the Benelux Open").
NAMING_PARTICIPLES = words("renamed named called elected appointed dubbed titled nicknamed given awarded declared made crowned")
# Participles that introduce a condition or a comparison and do not describe the subject.
PREPOSITIONAL_PARTICIPLES = words("given compared provided granted seen taken considered based put asked")
# Subordinate frames: nothing inside is asserted on its own.
FRAME_DEPS = frozenset({"ccomp", "csubj", "csubjpass", "advcl", "pcomp", "xcomp"})

PERSON_NOUNS = words(
    """
    person man woman boy girl king queen prince princess duke duchess earl baron knight saint bishop priest monk nun pope poet
    soldier general officer athlete politician musician guitarist pianist drummer bassist cellist violinist artist scientist
    physicist chemist economist linguist journalist novelist activist footballer cricketer player coach quarterback linebacker
    goalkeeper midfielder defender forward striker pitcher catcher wrestler boxer swimmer runner cyclist skater skier golfer actor
    actress singer songwriter rapper composer conductor producer director writer author editor lawyer attorney judge physician
    doctor surgeon nurse teacher professor scholar lecturer historian philosopher theologian engineer architect painter sculptor
    photographer designer dancer choreographer comedian host presenter broadcaster businessman businesswoman entrepreneur executive
    chef cook farmer merchant trader explorer navigator astronaut pilot admiral colonel captain sergeant senator congressman
    governor mayor president minister diplomat ambassador nobleman peer member leader founder chairman chairwoman personality model
    chief clergyman missionary rabbi imam cardinal archbishop botanist zoologist biologist mathematician statistician astronomer
    geologist inventor programmer developer researcher student daughter son wife husband brother sister father mother widow heir
    child descendant criminal murderer killer pirate outlaw gymnast rower sailor jockey driver racer sprinter fencer archer lutenist
    organist trumpeter trombonist saxophonist flautist harpist soprano tenor baritone publisher critic translator playwright
    dramatist screenwriter cinematographer animator illustrator cartoonist banker broker spy agent official commissioner councillor
    barrister solicitor antiquarian orientalist anthropologist archaeologist sociologist psychologist psychiatrist
    """
)
MALE_NOUNS = words(
    """
    man boy king prince duke earl baron bishop priest monk pope nobleman businessman chairman clergyman son husband brother father
    """
)
FEMALE_NOUNS = words(
    """
    woman girl queen princess duchess nun actress businesswoman chairwoman daughter wife sister mother widow soprano
    """
)
GROUP_LABELS = frozenset({"ORG", "NORP"})
THING_LABELS = frozenset({"ORG", "GPE", "LOC", "FAC", "PRODUCT", "WORK_OF_ART", "EVENT", "LAW", "LANGUAGE"})

# "The city of X, which": the class noun and the name are one thing.
PLACE_CLASSES = words("city town village state island county river province district republic region municipality kingdom")

# Attributes whose bare mention ("the population was", "weight: 3 kg") is of the thing the document is about.
ATTRIBUTE_NOUNS = words(
    """
    population area surface depth height length width weight diameter circumference capacity volume speed price cost age salary
    budget capital currency elevation altitude density temperature range mass size distance duration runtime circulation enrollment
    enrolment membership staff turnover revenue sales profit income headquarters genus climate motto mascot
    """
)
