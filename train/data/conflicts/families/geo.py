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
