"""Which layout a file is taken for: no family for another, and no plain table for a family."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.records import IMPORT_KINDS
from recjudge_tui.importers.reader import Sample
from recjudge_tui.importers.registry import PLAIN, layouts
from tests.support.samples import ARENA_TABLE, INTER, ITEM

# a file's beginning, its layout, and the kinds that it is known to hold
GUESSES = [
    ('{"business_id": "b", "name": "n", "categories": "a, b"}\n', "yelp", "items"),
    ('{"type": "business", "business_id": "b", "name": "n", "categories": ["a"]}\n', "yelp", "items"),
    ('{"user_id": "u", "name": "n", "yelping_since": "2010-01"}\n', "yelp", "users"),
    ('{"review_id": "r", "user_id": "u", "business_id": "b", "stars": 4, "text": "t"}\n', "yelp", "events"),
    ('{"user_id": "u", "business_id": "b", "text": "t", "date": "2010-01-01"}\n', "yelp", "events"),
    ('{"business_id": "b", "date": "2016-04-26 19:49:16"}\n', "plain", ""),
    (ARENA_TABLE, "recsys-arena", "users lists"),
    ("\ufeff" + ARENA_TABLE, "recsys-arena", "users lists"),
    ("user_id,item_id,label,predict,title\n1,2,0,0.5,x\n", "recsys-arena", "items users lists"),
    ("user_id,system,item_id,rank,label,predict\n1,s,2,1,0,0.5\n", "plain", ""),
    (INTER + "1\t2\t3\t4\n", "recbole", "events"),
    (ITEM + "1\tx\t2\ty\t1 2\n", "recbole", "items"),
    ("user_id:token\tage:float\n1\t2\n", "recbole", "users"),
    ("user_id:token,item_id:token\n1,2\n", "plain", ""),
    ("301 Q0 d1 1 2.5 bm25\n" * 3, "trec-run", "lists"),
    ("\n301\t0\td1\t-1\t1e-3\trun name\n301\t0\td1\t-1\t1e-3\trun\n", "plain", ""),
    ("301 0 d1 1\n301 0 d2 0\n", "trec-qrels", "events"),
    ("301\tQ0\td1\t1\r\n", "trec-qrels", "events"),
    ("196\t242\t3\t881250949\n186\t302\t3\t891717742\n", "movielens-100k", "events"),
    ("1::1193::5::978300760\n", "movielens-1m", "events"),
    ("userId,movieId,rating,timestamp\n1,2,3.5,1112486027\n", "movielens-latest", "events"),
    ('[{"id": 1, "annotations": [{"result": []}], "data": {"user_id": "u"}}]', "label-studio", "labels"),
    ('{"id": 1, "data": {}, "completions": []}\n', "label-studio", "labels"),
    ('[{"id": "1", "fields": {}, "metadata": {}, "suggestions": {}, "responses": {}}]', "argilla", "labels"),
    ('{"fields": {}, "responses": [], "external_id": null}\n', "argilla", "labels"),
    ('{"id": "1", "text": "t", "q.responses": ["a"], "q.responses.users": ["u"]}\n', "argilla", "labels"),
    ('{"text": "t", "_input_hash": 1, "_task_hash": 2, "accept": [], "answer": "accept"}\n', "prodigy", "labels"),
    ('{"id": 1, "text": "t", "label": ["a"]}\n', "doccano", "labels"),
    ('{"id": 1, "data": "t", "label": [], "Comments": []}\n', "doccano", "labels"),
    ('[{"id": 1, "text": "t", "annotations": [{"label": 1, "user": 1}], "meta": {}}]', "doccano", "labels"),
    ('{"rater": "a", "user_id": "u", "system": "s", "value": "Good", "label": ["x"], "text": "t", "id": 1}\n', "plain", ""),
    ('{"rater": "a", "user_id": "u", "value": "1", "answer": "accept"}\n', "plain", ""),
    ('{"user_id": "u", "item_id": "i", "type": "review", "business_id": "b", "stars": 3}\n', "plain", ""),
    ('{"item_id": "1", "title": "t", "business_id": "b", "name": "n"}\n', "plain", ""),
    ("rater,user_id,system,value\na,u,s,Good\n", "plain", ""),
    ("item_id,title\n1,a\n", "plain", ""),
    ("user_id,age\n1,2\n", "plain", ""),
    ("user_id,item_id,type\nu,1,click\n", "plain", ""),
    ("user_id\tsystem\titem_id\trank\nu\ts\t1\t1\n", "plain", ""),
    ("user_id,item_id,system,text\nu,1,s,Because\n", "plain", ""),
    ("1 0 2 3 4 5\n" + "not like the first\n" * 9, "plain", ""),
    ("[1, 2, 3]", "plain", ""),
    ("{", "plain", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "kinds"), GUESSES)
def test_each_file_is_one_layouts(text: str, name: str, kinds: str) -> None:
    sample = Sample(Path("in"), text)
    fit = {
        (layout.name, kind)
        for layout in layouts()
        for kind in IMPORT_KINDS
        if layout is not PLAIN and kind in layout.kinds and layout.fits(sample, kind)
    }
    assert fit == {(name, kind) for kind in kinds.split()}
