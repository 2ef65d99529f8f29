"""The pages of documentation as what a reader does with them: files to write, commands to type, what is shown.

A page is read from the top. A paragraph that ends in a file's name in backquotes and a colon names the file that the
next fence is. A fence marked ``console`` is typed: every line that begins with ``$ ``; the lines below it are what is
shown, where a line that is only ``…`` stands for any lines, and ``…`` in a line for any text. What a person types at a
question stands behind the question's end, as on a screen. Comments say the rest:

    <!-- project: todo -->        the page begins in a copy of the demo's project, committed; without it in an empty one
    <!-- project: source -->      … in a copy of our own source, where a ``diff`` fence changes the file that is named
    <!-- exit 1 -->               the exit code of the next fence's last command
    <!-- not run: the reason -->  nobody can type the next fence here: its words are still checked
"""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FILE = re.compile(r"`([\w~./-]+)`[^`]*:$", re.DOTALL)
_EXIT = re.compile(r"<!-- exit (\d+) -->")
_NOT_RUN = re.compile(r"<!-- not run: (.{10,}?) -->", re.DOTALL)
_PROJECT = re.compile(r"<!-- project: (\w+) -->")
#: What ends a question, with the answer behind it as the page shows it.
_ANSWERED = re.compile(
    r"^(?P<asked>.*(?:, then Enter: |back\): |anything else does not: |\(Enter: none\): )|> )(?P<key>.+)$"
)


class WriteFile(NamedTuple):
    """A file of the page."""

    name: str
    text: str
    line: int


class ChangeFile(NamedTuple):
    """Lines of a file that the page takes out and puts in."""

    name: str
    old: str
    new: str
    line: int


class TypeCommand(NamedTuple):
    """A command of the page, and what it shows."""

    command: str
    shown: tuple[str, ...]
    exit: int
    not_run: str
    line: int

    @property
    def keys(self):
        """What a person answers, in order."""
        return [found["key"] for line in self.shown if (found := _ANSWERED.match(line))]

    @property
    def pattern(self):
        """Return what the output has to match, or ``None`` where the page shows nothing."""
        if not self.shown:
            return None
        parts = []
        for line in self.shown:
            found = _ANSWERED.match(line)
            if line.strip() == "…":
                parts.append(r"(?:[^\n]*\n)*?")
            elif found:
                parts.append(_words(found["asked"]))  # what is typed is not printed by us
            else:
                parts.append(rf"{_words(line.rstrip())}[ ]*\n")
        return "".join(parts)


def _words(line):
    return "[^\n]*?".join(re.escape(part) for part in line.split("…"))


class Page(NamedTuple):
    """A page: where it begins and what is done, in its order."""

    path: Path
    project: str
    steps: tuple[WriteFile | ChangeFile | TypeCommand, ...]
    comments: tuple[str, ...]


def page_of(path):
    """Return what a reader does with a page."""
    text = path.read_text("utf-8")
    steps = []
    comments = []
    before = []
    for token in MarkdownIt("commonmark", {"html": True}).parse(text):
        if token.type == "html_block" and token.content.startswith("<!--"):
            comments.append(token.content.strip())
            before.append(token.content.strip())
        elif token.type == "inline":
            before = [*[one for one in before if one.startswith("<!--")][-2:], token.content]
        elif token.type == "fence":
            steps += _steps(token, before)
            before = []
    project = next((found[1] for one in comments if (found := _PROJECT.match(one))), "")
    return Page(path, project, tuple(steps), tuple(comments))


def _steps(token, before):
    kind = token.info.split(" ")[0]
    line = token.map[0] + 1
    notes = "\n".join(one for one in before if one.startswith("<!--"))
    name = _FILE.search(before[-1]) if before else None
    if name and kind == "diff":
        lines = token.content.splitlines(keepends=True)
        old, new = ("".join(one[1:] for one in lines if one[:1] != mark) for mark in "+-")
        return [ChangeFile(name[1], old, new, line)]
    if name and kind != "console":
        return [WriteFile(name[1], token.content, line)]
    if kind != "console":
        return []
    left_out = _NOT_RUN.search(notes)
    code = _EXIT.search(notes)
    typed = re.split(r"^\$ ", token.content, flags=re.MULTILINE)[1:]
    made = []
    for number, one in enumerate(typed):
        command, *shown = one.rstrip("\n").split("\n")
        while command.endswith("\\") and shown:
            command = command[:-1] + shown.pop(0).lstrip("> ")
        is_last = number == len(typed) - 1
        made.append(
            TypeCommand(
                re.sub(r"\s{2,}#.*$", "", command),
                tuple(shown),
                int(code[1]) if code and is_last else 0,
                left_out[1] if left_out else "",
                line,
            )
        )
    return made


def words_of(command):
    """Return the words of every ``ai-rails …`` in a line of a shell, without its redirections."""
    parts = [[]]
    reader = shlex.shlex(command, posix=True, punctuation_chars="|&;()<>")
    reader.whitespace_split = True
    reader.commenters = ""
    into = False
    for word in reader:
        if set(word) <= set("<>"):
            into = True
        elif set(word) <= set("|&;()"):
            parts.append([])
        elif into:
            into = False
        else:
            parts[-1].append(word)
    found = []
    for words in parts:
        while words and re.fullmatch(r"\w+=.*|env|uvx?|run|time|\$", words[0]):
            words.pop(0)
        if words[:1] == ["ai-rails"] or words[:3] == ["python", "-m", "rails"]:
            found.append(words[1:] if words[0] == "ai-rails" else words[3:])
    return found


def is_plain(command):
    """Whether a line is one command of ours, without anything that a shell does."""
    return command.startswith("ai-rails ") and not re.search(
        r"[|<>;&$*()]|^\w+=", re.sub(r"'[^']*'|\"[^\"$]*\"", "", command)
    )


def pages():
    """Every page of documentation, and what stands at the top of the repository."""
    return [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
