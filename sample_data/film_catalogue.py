"""The film catalogue. Every title, year and director here is invented."""

from __future__ import annotations

from records import Item

# Director: then title | year | genres. A number at the end of a title makes it part of a series, words in
# brackets another edition of the film above it.
FILMS = """
: Ilse Marrowby
The Salt Ferry Ledger | 2009 | Crime|Drama
The Salt Ferry Ledger (Director's Cut) | 2009 | Crime|Drama
Eleven Doors on Tanner Row | 2013 | Crime|Mystery
Eleven Doors on Tanner Row (Restored) | 2013 | Crime|Mystery
The Coroner of Little Hask | 2017 | Crime|Mystery|Thriller
A Warrant for Snow | 2021 | Crime|Thriller
What the Bailiff Kept | 2005 | Crime|Drama
: Tobiah Quennell
Orbit of the Ninth Baker | 2011 | Comedy|Science Fiction
Slow Light over Kepra | 2014 | Drama|Science Fiction
Slow Light over Kepra (Restored) | 2014 | Drama|Science Fiction
Slow Light over Kepra 2: The Return Signal | 2018 | Drama|Science Fiction
The Cartographer of Vacuum | 2022 | Mystery|Science Fiction
Tin Moons | 2007 | Adventure|Science Fiction
Tin Moons (Restored) | 2007 | Adventure|Science Fiction
: Odalys Ferrant
Lemons in the Post Room | 2012 | Comedy|Romance
My Landlord, the Tenor | 2015 | Comedy|Music|Romance
Two Left Umbrellas | 2019 | Comedy|Romance
Mostly Tuesdays with Nora Pell | 2008 | Comedy|Drama|Romance
Mostly Tuesdays with Nora Pell (Anniversary Edition) | 2008 | Comedy|Drama|Romance
The Wedding at Platform Six | 2023 | Comedy|Romance
The Wedding at Platform Six (Extended Edition) | 2023 | Comedy|Romance
: Henrik Oesterlund-Bray
The Cellar Under Ash House | 2010 | Horror|Mystery
The Cellar Under Ash House (Uncut) | 2010 | Horror|Mystery
The Cellar Under Ash House 2 | 2012 | Horror
The Cellar Under Ash House 3: Downstairs | 2015 | Horror
The Hour the Moths Came | 2018 | Horror|Thriller
The Hour the Moths Came (Extended Edition) | 2018 | Horror|Thriller
Nobody Feeds the Well | 2022 | Drama|Horror
: Pim Daskalov
Barnaby Crumb and the Cloud Mill | 2011 | Animation|Family|Fantasy
Barnaby Crumb and the Cloud Mill (Anniversary Edition) | 2011 | Animation|Family|Fantasy
Barnaby Crumb 2: The Upside-Down Sea | 2014 | Animation|Family|Fantasy
Barnaby Crumb 3: Winter of the Wooden King | 2018 | Animation|Family|Fantasy
The Otter Who Ran the Post Office | 2020 | Animation|Comedy|Family
Paper Whales | 2016 | Animation|Family
: Renske Adeyemi-Holt
Four Winters of Wheat | 2013 | Documentary
Four Winters of Wheat (Restored) | 2013 | Documentary
The Bridge Menders | 2016 | Documentary
Listening to Peat | 2019 | Documentary|Music
Last Shift at the Lace Works | 2008 | Documentary|Drama
Who Counts the Starlings? | 2022 | Documentary|Family
: Caspian Threlkeld
The Brass Heron | 2006 | Adventure|Fantasy
The Brass Heron (Director's Cut) | 2006 | Adventure|Fantasy
The Brass Heron 2: River of Keys | 2009 | Adventure|Fantasy
The Brass Heron 3: The Hollow Crown of Ely Moor | 2012 | Adventure|Fantasy
Six Oars to Thunder Sound | 2017 | Adventure|Drama
The Glass Caravan | 2021 | Adventure|Fantasy|Romance
: Maribel Sontag-Ruiz
El faro de sal | 2010 | Drama|Mystery
A House of Borrowed Chairs | 2014 | Drama
A House of Borrowed Chairs (Restored) | 2014 | Drama
The Year My Aunt Drove North | 2018 | Comedy|Drama
Letters to an Unfinished Sea | 2006 | Drama|Romance
The Quiet Half of Sunday | 2022 | Drama
: Gideon Achterberg
Dead Reckoning at Pier Nine | 2008 | Crime|Thriller
The Seventh Courier | 2011 | Adventure|Thriller
The Seventh Courier (Extended Edition) | 2011 | Adventure|Thriller
The Seventh Courier 2: Night Manifest | 2014 | Adventure|Thriller
The Seventh Courier 3: No Return Address | 2017 | Adventure|Thriller
Cold Ledger | 2020 | Crime|Thriller
Cold Ledger (Director's Cut) | 2020 | Crime|Thriller
: Yevgenia Plume
Brasses and Blisters | 2009 | Comedy|Music
The Piano Tuner's Revenge | 2013 | Comedy|Crime|Music
The Piano Tuner's Revenge (Special Edition) | 2013 | Comedy|Crime|Music
Second Violin, First Husband | 2016 | Music|Romance
Choir of the Night Bus | 2019 | Drama|Music
One Summer in B Flat | 2023 | Music|Romance
: Fennimore Okpara
Trenches of the Tall Grass | 2007 | Drama|War
The Signaller's Daughter | 2012 | Drama|Romance|War
Forty Miles to Quiet | 2015 | Adventure|War
The Kitchens of the Ninth Army | 2020 | Documentary|War
A Medal for the Mule | 2010 | Comedy|War
: Sunniva Calloway-Lint
Dust Judge | 2008 | Crime|Western
The Widow Rides to Calder Flats | 2013 | Drama|Western
Three Spurs and a Violin | 2017 | Comedy|Western
Last Water before Mercy | 2021 | Adventure|Western
: Bastien Orlewood
The Understudy Murders | 2010 | Comedy|Crime|Mystery
The Understudy Murders 2: Matinée | 2013 | Comedy|Crime|Mystery
A Perfectly Ordinary Poisoning | 2016 | Comedy|Crime|Mystery
The Vicar Did Not Sleep | 2019 | Crime|Mystery
Inspector Pomfrey Takes the Waters | 2022 | Comedy|Mystery
: Noor Vandersteyn
Every Robot Needs a Sister | 2015 | Animation|Family|Science Fiction
The Boy Who Repaired Comets | 2019 | Animation|Family|Science Fiction
Grandmother's Rocket | 2012 | Comedy|Family|Science Fiction
Signal Lost, Love Mother | 2022 | Drama|Science Fiction
The Low Gravity Waltz | 2017 | Romance|Science Fiction
: Leopold Achebe-Stroud
Hush Street | 2009 | Horror|Thriller
Hush Street (Uncut) | 2009 | Horror|Thriller
The Lodger in the Mirror Shop | 2013 | Horror|Mystery|Thriller
Teeth of the Orchard | 2016 | Horror
The Choir Beneath | 2020 | Horror|Music
Do Not Answer the Lighthouse | 2023 | Horror|Mystery
: Wilhelmina Tarrow
The Cheesemaker's Alibi | 2011 | Comedy|Crime
A Short History of My Brother's Van | 2014 | Comedy|Drama
Half Board at the Hotel Meringue | 2017 | Comedy
The Great Turnip Forgery | 2020 | Comedy|Crime
Mostly Neighbours and Geese | 2008 | Comedy
: Aurelio Benbrook
The Tidekeeper's Bargain | 2010 | Fantasy|Romance
The Tidekeeper's Bargain (Extended Edition) | 2010 | Fantasy|Romance
The Tidekeeper's Bargain 2: Ebb | 2013 | Fantasy|Romance
Thirteen Lanterns for Ysolde | 2016 | Drama|Fantasy
The Unicorn Tax | 2021 | Comedy|Fantasy
A Crown of Wet Leaves | 2006 | Adventure|Fantasy
: Kirsi Montefalk
The Actuary of Pell Street | 2012 | Drama|Thriller
Blackout in Sector Plum | 2015 | Science Fiction|Thriller
The Interpreter's Silence | 2018 | Drama|Thriller
Nine Minutes of Harbour Light | 2021 | Mystery|Thriller
Glass Floor, Tenth Storey | 2009 | Crime|Thriller
: Ambrose Delacroix-Finch
Rain on the Rue des Cordiers | 2007 | Drama|Romance
The Beekeeper's Second Spring | 2011 | Drama|Romance
The Beekeeper's Second Spring (Restored) | 2011 | Drama|Romance
An Almanac of Small Goodbyes | 2015 | Drama|Romance
Where the Tram Turns Round | 2019 | Drama|Romance
Café of the Late Arrivals | 2023 | Comedy|Romance
: Thandeka Whistlewood
The Ice Road Library | 2014 | Adventure|Documentary
Mapmakers of the Blue Nile Delta | 2018 | Adventure|Documentary
Twelve Hands, One Boat | 2010 | Documentary
A Field Guide to Fathers | 2021 | Documentary|Drama
: Ruaridh Pennington-Sato
Night Parcel | 2016 | Crime|Drama|Thriller
Night Parcel (Director's Cut) | 2016 | Crime|Drama|Thriller
The Counterfeit Monk | 2012 | Adventure|Crime
Eel Pie Confidential | 2008 | Comedy|Crime
The Long Friday Heist | 2019 | Crime|Thriller
The Long Friday Heist 2: Saturday | 2022 | Crime|Thriller
: Mirela Hartsock
The Giant of Plimsoll Lane | 2009 | Family|Fantasy
My Teacher Is a Weather Balloon | 2013 | Comedy|Family
The Dragon Who Hated Mondays | 2017 | Animation|Comedy|Family
The Dragon Who Hated Mondays (Special Edition) | 2017 | Animation|Comedy|Family
Saving Captain Biscuit | 2020 | Adventure|Family
Saving Captain Biscuit 2: All Paws on Deck | 2023 | Adventure|Family
: Dov Lisenko
Colony Thirteen Reports No Fault | 2010 | Horror|Science Fiction
The Memory Tenants | 2014 | Science Fiction|Thriller
Dream Freight | 2018 | Adventure|Science Fiction
The Clockwork Envoy | 2021 | Mystery|Science Fiction
Last Elevator to Io Station | 2006 | Horror|Science Fiction
: Cosima Vale-Ekström
The Understorey | 2020 | Drama|Mystery
Seven Years a Stationmaster | 2011 | Drama
A Tenor among Thieves | 2017 | Crime|Music
"""


def film_items() -> dict[str, Item]:
    """The catalogue by item id, in the order of the table above."""
    items: dict[str, Item] = {}
    director = ""
    for row in FILMS.strip().splitlines():
        if row.startswith(": "):
            director = row[2:]
            continue
        title, year, genres = (part.strip() for part in row.split("|", 2))
        number = len(items) + 1
        items[f"F{number:04d}"] = Item(
            item_id=f"F{number:04d}",
            title=f"{title} ({year})",
            category=genres,
            extra=(("year", year), ("director", director)),
            line=_series(title),
            pull=(0.2 if "(" in title else 1.0) * (0.7 + 0.1 * (number * 5 % 9)),
        )
    return items


def _series(title: str) -> str:
    """`The Brass Heron 2: River of Keys` belongs to `The Brass Heron`, `Barnaby Crumb and ...` to its own."""
    words = title.split(" (")[0].split(":")[0].split()
    if words[-1].isdigit():
        words = words[:-1]
    name = " ".join(words)
    return "Barnaby Crumb" if name.startswith("Barnaby Crumb") else name
