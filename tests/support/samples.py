"""Small files of our own making, written as the layouts have them; no line is anybody's data."""

from __future__ import annotations


def flags(*genres: int) -> str:
    """The 19 flags at the end of a line of u.item; 0 is “unknown”."""
    return "|".join("1" if place in genres else "0" for place in range(19))


U_DATA = "12\t301\t4\t875000000\n12\t302\t1\t875000060\n13\t301\t5\t875003600\n"
U_ITEM = (
    f"301|Café Nord: A Story (1991)|03-Mar-1991||http://example.org/?t=Caf%E9|{flags(5, 8)}\n"
    f"302|The | Bar (1990)||01-Jan-1992||{flags(0)}\n"
    f"303|unknown||||{flags(0)}\n"
).encode("latin-1")
U_USER = "12|33|F|librarian|00123\n13|7|M|student|T8H1N\n"

RATINGS_DAT = "1::11::5::978300760\n1::12::3::978302109\n2::11::4::978298413\n"
MOVIES_DAT = (
    "11::Night: Part One: Dawn (1988)::Drama|Sci-Fi\n"
    "12::Élan, L' (1990)::Children's\n"
    "13::Odd::Title (1977)::Comedy\n"
).encode("latin-1")
USERS_DAT = "1::F::1::10::48067\n2::M::56::16::70072-1234\n3::M::25::20::0\n"
TAGS_DAT = "1::11::slow: but good::1188263867\n2::12::1980s::1188263900\n"

RATINGS_CSV = "userId,movieId,rating,timestamp\n1,7,4.5,964982703\n1,8,0.5,964981247\n2,7,3.0,964982224\n"
MOVIES_CSV = (
    'movieId,title,genres\n7,"Glass, The (1995)",Adventure|Comedy\n'
    '8,"A ""Quoted"" Film: Again (2001)",(no genres listed)\n'
)
TAGS_CSV = 'userId,movieId,tag,timestamp\n1,7,"funny, dry",1445714994\n'
LINKS_CSV = "movieId,imdbId,tmdbId\n7,0114709,862\n"

NEWS = (
    'N1\tsports\ttennis\tA 6" lead, lost\tHow it went.\thttps://example.org/1\t[]\t[]\n'
    "N2\tnews\tworld\tTalks go on\t\thttps://example.org/2\t[]\t[]\n"
    "N3\tfood\tbread\tRye, again\tBake it.\thttps://example.org/3\t[]\n"
    "N4\tnews\tlocal\tBridge opens\tAt last.\thttps://example.org/4\t[]\t[]\n"
)
# U1 stands twice, the newer impression first; U2 has no history
BEHAVIORS = (
    "1\tU1\t11/15/2019 12:05:00 PM\tN1 N2\tN3-0 N4-1 N2-0\n"
    "2\tU2\t11/15/2019 12:30:00 AM\t\tN1-1 N4-0\n"
    "3\tU1\t11/15/2019 9:00:01 AM\tN1\tN4-0 N3-1\n"
)
PREDICTION = "1 [3,1,2]\n2 [1,2]\n3 [2,1]\n"

ITEMS = "item_id,title,category\n7,Glass,Drama\n"
EVENTS = "user_id,item_id,type,timestamp,value\nu,7,click,2024-05-01,\n"
LISTS = "user_id,system,item_id,rank\nu,a,7,1\n"
BATTLES = "rater,user_id,system_a,system_b,value\nann,u,a,b,A\n"


INTER = "user_id:token\titem_id:token\trating:float\ttimestamp:float\r\n"


ITEM = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\tembedding:float_seq\n"


_ARENA_HEADER = (
    ",user_id,item_id,label,timestamp,gender,age,occupation,zipcode,cate,popularity,user_pop,predict\n"
)


_ARENA_ROWS = [
    '0,7,31,0,0,0,6,20,11,"[2, 3]",0.1,0.2,0.25',
    "1,7,12,1,978300174,0,6,20,11,[13],0.1,0.2,0.9",
    '2,7,12,1,978300174,0,6,20,11,"[13, 2]",0.1,0.2,0.9',
    '3,7,5,0,0,0,6,20,11,"[8, 4, 3]",0.1,0.2,0.5',
    "4,8,31,0,0,1,0,99,12,[2],0.1,0.2,0.4",
]


ARENA_TABLE = _ARENA_HEADER + "".join(row + "\n" for row in _ARENA_ROWS)
