"""Lazy rewrites: "rest of the code unchanged" in place of the code, and files that lost their lines.

Judged by language: ``...rest`` is code in JavaScript, ``# Unchanged`` a heading in Markdown. Covered: a line of only
such a sentence, in any common comment syntax or between dots or brackets, in English, German, French, Spanish,
Portuguese, Italian, Dutch, Polish, Russian, Chinese, Japanese or Korean; a comment of dots; a rewrite that drops more
than 30 % of ten lines or more.
"""

from __future__ import annotations

import re
from typing import Final

from rails.core.lazy_pattern import lazy

_COMMENT: Final = lazy(
    r"\s*+(?:#+|//+|/\*+|\*+|--+|<!--|<%--|;+|%+|'(?!.*')|\"{3}|'{3}|\{/\*|\{\{!?/?\*?|\{#|@\*|\(\*|\{-|<#|::|!+|\.\.|\"(?!.*\")|dnl\b|@?rem\b)\s?"
    r"(?P<text>.*)",
    re.I,
)
_CLOSING: Final = lazy(r"(?:#>|(?<!\*)\*+/\}{0,2}|\}\}|#\}|\*@|--%?>|\*\)|-\}|\"{3}|'{3})\s*$")
_DOTTED: Final = lazy(
    r"\s*+(?:\.{3,}+|…|[\[(<]\s*+(?:\.{3}|…)?)\s*+(?P<text>[^\[\]<>]*?)(?<!\s)\s*+(?:(?<!\.)\.{3,}+|…|[\])>])?\s*+"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What is left out, in words. Whatever else stands on such a line is one of the words below.
_WHAT = _words(
    "bodies body class classes code codes component components config configuration content contents css"
    " definition definitions docstring document documents entries fields file files function functions handler"
    " handlers html impl implementation implementations import imports items jsx line lines logic markup member members"
    " method methods module modules nodes page pages part parts properties queries query route routes rule rules script"
    " scripts section sections stuff style styles template templates test tests text values"
)
_GONE = _words("elided intact omitted snip snipped truncated unaltered unchanged unmodified untouched")
_REST = _words("rest remainder")
_THERE = _words("existing original previous remaining")
_WORDS = _words(
    "above after all and are as be been before below brevity can change changed changes code continue continues"
    " current else everything exactly follow follows for from go goes here i identical in is it its keep keeps"
    " kept left more my needed no nothing of old on other our place region remain remains same should stay stays"
    " still that the they this to was were will with would your"
)
#: The same in other languages that put blanks between words.
_WHAT |= _words(
    "datei dateien funktion funktionen inhalt klasse klassen komponente logik methode methoden teil teile zeilen"
    " código codigo archivo archivos clase clases contenido función funciones lógica métodos fichero parte"
    " fichier fonction fonctions contenu logique méthodes partie classe conteúdo função funções arquivo"
    " codice funzione funzioni contenuto metodi bestand functie functies inhoud kodu kod plik pliku funkcji"
    " код кода файл файла функции функций методы методов часть содержимое логика"
)
_GONE |= _words(
    "unverändert unveränderter unveränderte unverändertem gekürzt ausgelassen weggelassen"
    " inchangé inchangée inchangés inchangées omis omise omitido omitida omitidos omitidas inalterado inalterada"
    " inalterados inalteradas invariato invariata invariati omesso omessa ongewijzigd weggelaten pominięto"
    " неизменным неизменной неизменна пропущено опущено опущен"
)
_REST |= _words(
    "restlich restliche restlicher restliches restlichen übrige übriger übriges übrigen reste resto restante"
    " restantes rimanente resterende reszta pozostała pozostały остальной остальная остальное остальные остаток"
)
_THERE |= _words(
    "bestehender bestehende bestehendes vorhandener vorhandene bisheriger existant existante existente existentes"
    " esistente bestaande istniejący существующий существующая"
)
_WORDS |= _words(
    "bleibt bleiben ab sonst wie bisher zuvor oben gleich hier der die das des den dem und mit ohne änderung änderungen"
    " ist sind du de la le les des et est sont sans changement changements modification modifications identique"
    " ici comme avant reste restent del el los las y es sin cambios cambio igual aquí mismo se mantiene permanece"
    " permanecen queda o os as do da dos das sem alterações mudanças mesma mesmo aqui il lo gli e senza modifiche"
    " modifica rimane resta uguale qui come prima van het hetzelfde blijft zonder wijzigingen hier bez zmian"
    " pozostaje jest tutaj без изменений изменения остаётся остается остаются прежним здесь как было и не изменился"
    " изменилась изменились"
)
_ALL: Final = _WHAT | _GONE | _REST | _THERE | _WORDS
#: Chinese, Japanese and Korean, without blanks: what a sentence is made of, and one of which says that it is left out.
_LEFT_OUT: Final = (
    "不变|未变|无变化|没有变化|无需修改|未修改|省略|略去|其余|剩余|剩下|相同|一样|不變|其餘|剩餘|残り|変更なし|変更ありません"
    "|変更はありません|そのまま|同じ|同様|既存|나머지|생략|변경없음|변경사항없음|그대로|동일|기존"
)
_CJK: Final = lazy(
    rf"(?=.*(?:{_LEFT_OUT}))(?:{_LEFT_OUT}|此处|这里|以下|以上|其他|其它|原有|现有|已有|之前|原来|部分|的|代码|代碼|程式碼|内容"
    "|內容|逻辑|函数|方法|实现|类|保持|均|都|与|和|以降|その他|他|元|の|コード|処理|実装|関数|メソッド|は|が|も|と|ここに|ここ"
    "|です|する|します|코드|부분|내용|함수|메서드|로직|는|은|과|와|이|가|합니다|함|됨|유지|여기|에|하기)+"
)
#: Sets of which a line has a word each, where it needs no word for what is gone.
_TOGETHER: Final = tuple(
    tuple(_words(group) for group in row.split("/"))
    for row in (
        "no nothing/change changes changed",
        "same/before above original/as",
        "stay stays remain remains kept keep/same as else other",
        "code/continue continues",
        "more/lines",
        "other/here",
        "sin sans sem senza bez без ohne/cambio cambios changement changements alterações mudanças modifiche zmian"
        " изменений änderung änderungen",
    )
)
#: A cheap look at the whole text: without one of these, no line is a placeholder.
_FIRST: Final = (
    *_LEFT_OUT.split("|"),
    *("изменен", "senza modifich", "sans ", "변경", "без ", "sin cambio", "sem altera", "bez zmian", "ohne "),
    *(_GONE | _REST | _THERE | _words("chang same stay remain kept keep continue more other")),
)
_LOST: Final = 0.3
_SMALL: Final = 10


def placeholder(new: str, old: str, path: str = "") -> tuple[int, str] | None:
    """Return the number (from 1) and text of a line of ``new`` that stands for left-out code, or None.

    A line that ``old`` has too does not count. ``path`` gives the language.
    """
    lower = new.lower()
    suffix = path.rpartition(".")[2].lower()
    worded = any(word in lower for word in _FIRST)
    dotted = suffix not in _PROSE and ("..." in new or "…" in new)
    known = {line.strip() for line in old.splitlines()} if worded or dotted else set()
    if worded:
        for number, line in enumerate(new.splitlines(), start=1):
            if len(line) <= 200 and line.strip() not in known and _stands_for_code(line, suffix):
                return number, line.strip()
    if dotted:
        for dots in _DOTS.finditer(new):
            near = new[: dots.start()].rpartition("\n")[0].rpartition("\n")[2], new[dots.end() + 1 :].partition("\n")[0]
            if dots[0].strip() not in known and not any(map(_COMMENT.match, near)):
                return new.count("\n", 0, dots.start()) + 1, dots[0].strip()
    return None


#: A line that is a comment of nothing but dots. In a comment of several lines they are its own.
_DOTS: Final = lazy(r"^[ \t]*(?:#|//|--|;|%|\{?/\*|<!--)[ \t]?(?:\.{3}|…)[ \t]*+(?:\*/\}?|-->)?[ \t\r]*$", re.M)
#: Where three dots before a name are a spread, and a # before one a field or an id.
_SPREADING: Final = _words("js mjs cjs jsx ts mts cts tsx vue svelte php css scss less")
_SPREAD: Final = lazy(
    r"\s*+(?:[\[({]?\s*+\.{3}[A-Za-z_$][\w$.?()\[\]]*+\s*+[\])}]*+\s*+[,;]?\s*+|#[a-z_][\w-]*+\s*+[;=({,].*)"
)
_PROSE: Final = frozenset({"md", "markdown", "mdx", "rst", "adoc"})
_LISP: Final = frozenset({"lisp", "clj", "cljs", "cljc", "scm", "rkt", "el", "hy"})


def _stands_for_code(line: str, suffix: str) -> bool:
    dots = "..." in line or "…" in line
    if suffix in _SPREADING and _SPREAD.fullmatch(line):
        return False
    comment = _COMMENT.fullmatch(line)
    if comment and (dots or suffix not in _PROSE or line.lstrip().startswith("<!--")):
        return _is_phrase(_CLOSING.sub("", comment["text"]))
    dotted = _DOTTED.fullmatch(line)
    if dotted is None or comment is not None:
        return False
    is_code = not dots and suffix and (suffix in _LISP or (suffix not in _PROSE and " " not in dotted["text"]))
    is_code = is_code or (line.lstrip()[:1] == "<" and not dots and " " not in dotted["text"].rstrip(" /"))
    return not is_code and _is_phrase(dotted["text"])


def _is_phrase(text: str) -> bool:
    if not text.isascii() and _CJK.fullmatch(re.sub(r"[\W\d_]+", "", text)):
        return True
    words = re.findall(r"[^\W\d_]+", text.lower())
    found = frozenset(words)
    odd = found - _ALL
    if not 0 < len(words) <= 16 or (odd and not (len(odd) == 1 and found & _REST and found & _GONE)):
        return False
    named = found & (_GONE | _REST) or (found & _THERE and found & _WHAT)
    return bool(named) or any(all(found & group for group in groups) for groups in _TOGETHER)


def lost_lines(old: str, new: str) -> tuple[int, int] | None:
    """Return how many of how many lines a rewrite drops, if suspiciously many."""
    before, after = (sum(1 for line in text.splitlines() if line.strip()) for text in (old, new))
    return (before - after, before) if before >= _SMALL and before - after > before * _LOST else None
