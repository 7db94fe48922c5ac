"""Words by which a text after an answer takes the answer back, in the languages that judges reply in.

In doubt, a text counts as a retraction: the judge is only asked once more.
"""

from __future__ import annotations

import re

# English, matched in a text reduced to words with single spaces
_ENGLISH = re.compile(
    r"\b(?:wait|hold on|oops|sorry|correction|corrected|correct my|scratch that|on second thought|on reflection|mistake|"
    r"mistaken|wrong|incorrect|not right|an error|chang(?:e|ed|ing) my|reconsider|disregard|ignore (?:that|this|the|my)|"
    r"instead|retract|withdraw|take (?:that|it) back|should (?:have been|be|rather)|actually|revis(?:e|ed|ing)|but no\b|"
    r"not that|not the above|nonsense|make that|edit\b|erratum|(?:isn|wasn) t (?:right|correct|true))",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?<!\w)(?:no|nein|non|não|nee|nej|nei|nie|ne|нет|ні|не|όχι|hayır|nem|nu|không|tidak|bukan)[,;:.!]",
    re.IGNORECASE,
)
# whole words, folded: as prefixes they would match too many other words
_WORDS = frozenset(
    "nein faux erro anzi fout nee nej nei fel feil fejl vent vänta sai nhầm hata hiba ошибка нет רגע maaf salah errato"
    " khoan wacht nie".split()
)
# the beginnings of words, folded
_BEGINNINGS = frozenset(
    # German, Dutch
    "falsch irrtum irrtüml geirrt korrektur korrigier entschuldig verzeihung eigentlich stattdessen fehler vielmehr "
    "widerruf onjuist eigenlijk correctie vergis "
    # French, Spanish, Portuguese, Italian, Romanian
    "attendez attends trompé erreur désolé fausse rectif plutôt finalement rétract incorrec équivoc equivoc espera perdón "
    "error corrijo correcci corrig disculp lamento errad enganei desculp aspetta sbagliat errore scusa scusi scuse correggo "
    "correzion greșit gresit greșeal scuze corectez "
    # Danish, Norwegian, Swedish, Finnish
    "felaktig faktisk egentlig ursäkta undskyld beklager rättelse rettelse väärin virhe anteeksi korjaus "
    # Polish, Czech, Slovak, Hungarian
    "błąd błęd pomył przeprasz czekaj właściwie jednak korekt chyba špatn spletl omlouvám oprava vlastně nesprávn téves "
    "tévedt valójában bocsánat elnézést "
    # Russian, Ukrainian, Bulgarian
    "ошиб неверн неправильн подожд извин исправ вернее точнее вместо помил невірн насправді вибач перепрош грешк "
    # Greek, Turkish
    "λάθος λαθος συγγνώμη διόρθωση περίμενε yanlış aslında düzelt pardon "
    # Arabic, Persian, Hebrew
    "خطأ خطا انتظر عذرا عذرًا آسف تصحيح اشتباه ببخشید متاسفم טעות סליחה תיקון "
    # Hindi, Bengali
    "गलत ग़लत माफ क्षमा सुधार ভুল দুঃখিত "
    # Indonesian, Malay; refusals
    "keliru refus tunggu sebenarnya koreksi silap".split()
)  # fmt: skip
_LENGTHS = sorted({len(beginning) for beginning in _BEGINNINGS})
# phrases, and words of languages that do not put spaces between words
_ANYWHERE = (
    "等等", "等一下", "不对", "不對", "错", "錯", "不是", "更正", "纠正", "糾正", "其实", "其實", "抱歉",
    "对不起", "應該是", "应该是", "应为", "收回", "間違", "違い", "違う", "誤り", "訂正", "すみません",
    "申し訳", "待って", "実は", "ではなく", "やはり", "やっぱり", "取り消", "아니", "틀렸", "틀린", "잘못",
    "정정", "죄송", "사실은", "잠깐", "취소", "ผิด", "ขอโทษ", "แก้ไข", "ไม่ใช่", "en fait", "de fapt",
    "na verdade", "itse asiassa", "stimmt nicht", "nicht richtig", "doch eher", "doch nicht", "toch niet",
    "на самом деле", "στην πραγματικότητα", "في الواقع", "mejor dicho", "xin lỗi", "ich meinte",
    "hatte unrecht", "me retracto", "moment,", "moment mal", "en realidad", "in realtà", "je retire", "थांब",
)  # fmt: skip


def retraction(text: str) -> str | None:
    """The first words found that take an answer back, or None. Linear in the length of the text."""
    words: list[str] = re.findall(r"\w+", text)
    if match := _ENGLISH.search(" ".join(words)) or _NO.search(text):
        return match[0]
    for word in words:
        folded = word.casefold()
        if folded in _WORDS or any(folded[:length] in _BEGINNINGS for length in _LENGTHS):
            return word
    folded = " ".join(text.casefold().split())
    return next((words for words in _ANYWHERE if words in folded), None)
