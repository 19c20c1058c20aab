"""Real geography for containment: country -> regions -> cities, and facts that names of places share."""

from __future__ import annotations

COUNTRIES: dict[str, dict[str, tuple[str, ...]]] = {
    "Germany": {"Bavaria": ("Munich", "Nuremberg", "Augsburg", "Regensburg"), "Saxony": ("Leipzig", "Dresden", "Chemnitz"), "Hesse": ("Frankfurt", "Kassel", "Darmstadt")},
    "France": {"Brittany": ("Rennes", "Brest", "Quimper"), "Normandy": ("Rouen", "Caen", "Le Havre"), "Occitanie": ("Toulouse", "Montpellier", "Albi")},
    "Italy": {"Tuscany": ("Florence", "Pisa", "Siena", "Lucca"), "Sicily": ("Palermo", "Catania", "Messina"), "Piedmont": ("Turin", "Asti", "Novara"), "Veneto": ("Venice", "Verona", "Padua")},
    "Spain": {"Andalusia": ("Seville", "Malaga", "Granada", "Cordoba"), "Catalonia": ("Barcelona", "Girona", "Tarragona"), "Galicia": ("Vigo", "Lugo", "Santiago de Compostela")},
    "Canada": {"Quebec": ("Montreal", "Laval", "Gatineau"), "Alberta": ("Calgary", "Edmonton", "Red Deer"), "Ontario": ("Toronto", "Ottawa", "Hamilton")},
    "the United States": {"Texas": ("Houston", "Dallas", "Austin", "El Paso"), "California": ("San Diego", "Sacramento", "Fresno"), "Ohio": ("Cleveland", "Toledo", "Dayton"), "Oregon": ("Portland", "Eugene", "Salem")},
    "Australia": {"Queensland": ("Brisbane", "Cairns", "Townsville"), "Victoria": ("Melbourne", "Geelong", "Ballarat"), "New South Wales": ("Sydney", "Newcastle", "Wollongong")},
    "India": {"Kerala": ("Kochi", "Kollam", "Kozhikode"), "Gujarat": ("Surat", "Rajkot", "Ahmedabad"), "Punjab": ("Amritsar", "Ludhiana", "Jalandhar"), "Tamil Nadu": ("Chennai", "Madurai", "Salem")},
    "Japan": {"Hokkaido": ("Sapporo", "Hakodate", "Otaru"), "Kyushu": ("Fukuoka", "Nagasaki", "Kumamoto"), "Shikoku": ("Matsuyama", "Kochi", "Takamatsu")},
    "Brazil": {"Bahia": ("Salvador", "Ilheus"), "Parana": ("Curitiba", "Londrina", "Maringa"), "Ceara": ("Fortaleza", "Sobral")},
    "Mexico": {"Jalisco": ("Guadalajara", "Puerto Vallarta"), "Sonora": ("Hermosillo", "Nogales"), "Yucatan": ("Merida", "Valladolid")},
    "Poland": {"Silesia": ("Katowice", "Gliwice", "Bytom"), "Masovia": ("Warsaw", "Radom", "Plock"), "Pomerania": ("Gdansk", "Gdynia", "Sopot")},
    "Switzerland": {"Ticino": ("Lugano", "Locarno", "Bellinzona"), "Valais": ("Sion", "Zermatt", "Brig"), "Vaud": ("Lausanne", "Montreux", "Nyon")},
    "Austria": {"Tyrol": ("Innsbruck", "Kufstein", "Lienz"), "Styria": ("Graz", "Leoben"), "Carinthia": ("Klagenfurt", "Villach")},
    "Chile": {"Atacama": ("Copiapo", "Vallenar"), "Maule": ("Talca", "Curico"), "Los Lagos": ("Puerto Montt", "Osorno")},
    "England": {"Yorkshire": ("Leeds", "Sheffield", "Hull"), "Devon": ("Exeter", "Plymouth", "Torquay"), "Norfolk": ("Norwich", "Cromer", "King's Lynn"), "Lancashire": ("Preston", "Blackburn", "Burnley")},
    "Nigeria": {"Kano State": ("Kano", "Wudil"), "Oyo State": ("Ibadan", "Ogbomosho"), "Rivers State": ("Port Harcourt", "Bonny")},
    "China": {"Sichuan": ("Chengdu", "Mianyang", "Leshan"), "Hunan": ("Changsha", "Yueyang"), "Shandong": ("Jinan", "Qingdao", "Yantai"), "Yunnan": ("Kunming", "Dali", "Lijiang")},
    "Turkey": {"Cappadocia": ("Nevsehir", "Goreme"), "Thrace": ("Edirne", "Tekirdag"), "Anatolia": ("Ankara", "Konya", "Kayseri")},
    "Sweden": {"Scania": ("Malmo", "Lund", "Helsingborg"), "Lapland": ("Kiruna", "Lycksele"), "Dalarna": ("Falun", "Mora")},
    "New Zealand": {"Otago": ("Dunedin", "Queenstown"), "Waikato": ("Hamilton", "Cambridge"), "Canterbury": ("Christchurch", "Timaru")},
    "South Africa": {"Gauteng": ("Johannesburg", "Pretoria"), "KwaZulu-Natal": ("Durban", "Newcastle"), "the Western Cape": ("Cape Town", "Paarl")},
}  # fmt: skip
CONTINENTS = {
    "Europe": ("Germany", "France", "Italy", "Spain", "Poland", "Switzerland", "Austria", "England", "Sweden"),
    "Asia": ("India", "Japan", "China"), "Africa": ("Nigeria", "South Africa"), "South America": ("Brazil", "Chile"),
    "North America": ("Canada", "the United States", "Mexico"), "Oceania": ("Australia", "New Zealand"),
}  # fmt: skip
DEMONYMS = {
    "Germany": "German", "France": "French", "Italy": "Italian", "Spain": "Spanish", "Canada": "Canadian", "the United States": "American", "Australia": "Australian",
    "India": "Indian", "Japan": "Japanese", "Brazil": "Brazilian", "Mexico": "Mexican", "Poland": "Polish", "Switzerland": "Swiss", "Austria": "Austrian", "Chile": "Chilean",
    "England": "English", "Nigeria": "Nigerian", "China": "Chinese", "Turkey": "Turkish", "Sweden": "Swedish", "New Zealand": "New Zealand", "South Africa": "South African",
}  # fmt: skip
AMBIGUOUS = {"Salem", "Newcastle", "Hamilton", "Cambridge", "Kochi", "Portland", "Granada", "Cordoba", "Valladolid", "Merida", "Toledo", "Victoria", "Galicia", "Salvador"}


def continent(country: str) -> str | None:
    """The continent, or None for a country on two."""
    return next((name for name, members in CONTINENTS.items() if country in members), None)


def cities(country: str) -> list[tuple[str, str]]:
    """(city, region) pairs of a country, without city names that several countries share."""
    return [(city, region) for region, names in COUNTRIES[country].items() for city in names if city not in AMBIGUOUS]


# real things: name, statement verb, the place it is in, wider places that contain it, disjoint places
LANDMARKS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("Mount Elbrus", "rises", ("the Caucasus", "southern Russia", "Russia"), ("Georgia", "Iran", "the Alps")), ("Mont Blanc", "rises", ("the Alps", "western Europe"), ("the Pyrenees", "the Carpathians", "Norway")),
    ("Mount Fuji", "rises", ("Honshu", "Japan", "East Asia"), ("Hokkaido", "Taiwan", "Korea")), ("Aconcagua", "rises", ("the Andes", "Argentina", "South America"), ("Bolivia", "Peru", "Brazil")),
    ("Mount Cook", "rises", ("the South Island", "New Zealand"), ("the North Island", "Tasmania", "Fiji")), ("Ben Nevis", "rises", ("the Scottish Highlands", "Scotland", "Great Britain"), ("Wales", "Ireland", "Cumbria")),
    ("Lake Titicaca", "lies", ("the Andes", "South America"), ("Mexico", "Chile", "Patagonia")), ("Lake Baikal", "lies", ("Siberia", "Russia"), ("Mongolia", "Kazakhstan", "Finland")), ("Lake Balaton", "lies", ("Hungary", "central Europe"), ("Romania", "Austria", "Serbia")),
    ("Lake Garda", "lies", ("northern Italy", "Italy"), ("Switzerland", "Sicily", "Slovenia")), ("Lake Tana", "lies", ("Ethiopia", "East Africa"), ("Sudan", "Kenya", "Chad")), ("Loch Lomond", "lies", ("Scotland", "Great Britain"), ("Ireland", "Wales", "Norway")),
    ("the Alhambra", "stands", ("Granada", "Andalusia", "Spain"), ("Seville", "Portugal", "Morocco")), ("the Taj Mahal", "stands", ("Agra", "Uttar Pradesh", "India"), ("Delhi", "Pakistan", "Rajasthan")), ("Angkor Wat", "stands", ("Cambodia", "Southeast Asia"), ("Thailand", "Vietnam", "Laos")),
    ("Machu Picchu", "stands", ("the Andes", "Peru", "South America"), ("Ecuador", "Bolivia", "Mexico")), ("Borobudur", "stands", ("Java", "Indonesia", "Southeast Asia"), ("Bali", "Malaysia", "Sumatra")), ("the Parthenon", "stands", ("Athens", "Greece"), ("Corinth", "Crete", "Italy")),
    ("the Prado museum", "stands", ("Madrid", "Spain"), ("Barcelona", "Lisbon", "Valencia")), ("the Uffizi gallery", "stands", ("Florence", "Tuscany", "Italy"), ("Rome", "Milan", "Venice")), ("the Hermitage museum", "stands", ("Saint Petersburg", "Russia"), ("Moscow", "Kiev", "Helsinki")),
    ("the Charles Bridge", "stands", ("Prague", "the Czech Republic"), ("Brno", "Vienna", "Budapest")), ("the Little Mermaid statue", "stands", ("Copenhagen", "Denmark"), ("Oslo", "Aarhus", "Sweden")), ("the Atomium", "stands", ("Brussels", "Belgium"), ("Antwerp", "Ghent", "the Netherlands")),
    ("the Gateway Arch", "stands", ("St Louis", "Missouri", "the United States"), ("Kansas City", "Illinois", "Chicago")), ("the Alamo", "stands", ("San Antonio", "Texas", "the United States"), ("Dallas", "New Mexico", "Houston")), ("the Grand Canyon", "lies", ("Arizona", "the United States"), ("Utah", "Colorado", "Nevada")),
    ("Yosemite Valley", "lies", ("California", "the United States"), ("Oregon", "Wyoming", "Canada")), ("the Serengeti plain", "lies", ("Tanzania", "East Africa"), ("Uganda", "Namibia", "Zambia")), ("the Atacama desert", "lies", ("Chile", "South America"), ("Argentina", "Peru", "Mexico")),
    ("the Gobi desert", "lies", ("Asia",), ("Africa", "Australia", "Arabia")), ("the Kalahari", "lies", ("southern Africa", "Africa"), ("Arabia", "northern Africa", "Australia")), ("the Great Barrier Reef", "lies", ("the Coral Sea", "the Pacific"), ("the Indian Ocean", "the Red Sea", "the Caribbean")),
    ("the island of Gotland", "lies", ("the Baltic Sea", "Sweden"), ("the North Sea", "Denmark", "Finland")), ("the island of Crete", "lies", ("the Mediterranean", "Greece"), ("the Black Sea", "Italy", "Cyprus")), ("the island of Zanzibar", "lies", ("the Indian Ocean", "Tanzania"), ("the Atlantic", "Kenya", "the Red Sea")),
    ("the island of Madeira", "lies", ("the Atlantic", "Portugal"), ("the Mediterranean", "Spain", "the Pacific")), ("the island of Hokkaido", "lies", ("Japan", "the Pacific"), ("Korea", "China", "the Indian Ocean")), ("the island of Corsica", "lies", ("the Mediterranean", "France"), ("the Atlantic", "Italy", "Spain")),
    ("the city of Timbuktu", "lies", ("Mali", "West Africa"), ("Niger", "Nigeria", "Morocco")), ("the city of Samarkand", "lies", ("Uzbekistan", "Central Asia"), ("Iran", "Kazakhstan", "Turkey")), ("the city of Cusco", "lies", ("Peru", "South America"), ("Chile", "Ecuador", "Mexico")),
    ("the city of Valparaiso", "lies", ("Chile", "South America"), ("Argentina", "Peru", "Spain")), ("the city of Bergen", "lies", ("Norway", "Scandinavia"), ("Sweden", "Denmark", "Finland")), ("the city of Izmir", "lies", ("Turkey",), ("Greece", "Syria", "Bulgaria")), ("the city of Vilnius", "lies", ("Lithuania", "the Baltic states"), ("Latvia", "Estonia", "Poland")),
    ("the source of the Danube", "lies", ("the Black Forest", "Germany"), ("Austria", "Switzerland", "Hungary")), ("the mouth of the Amazon", "lies", ("Brazil", "South America"), ("Peru", "Colombia", "Guyana")), ("the mouth of the Mississippi", "lies", ("Louisiana", "the United States"), ("Texas", "Florida", "Mexico")), ("the source of the Blue Nile", "lies", ("Ethiopia", "Africa"), ("Uganda", "Sudan", "Egypt")),
)  # fmt: skip
