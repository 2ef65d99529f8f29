"""The parsers of the command line and the options that several verbs share."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, NoReturn

from rails import __version__
from rails.core.exit_codes import EXIT_USAGE
from rails.render.terminal import columns, fitted, unbroken

DESCRIPTION: Final = """\
A gate for AI code edits: in Claude Code and Codex, on pasted answers, in CI, or with its own agent.

AI-Rails finds the tool requests and edits in a model's answer, runs your formatters and linters on the
proposed bytes, sends failures back to the model, asks you, and only then writes: all or nothing, undoable.
"""

#: What the tools that this one comes from call some of the verbs.
_IN_OTHER_WORDS: Final = {
    "execute": "run --agent AGENT",
    "check": "gate",
    "status": "review",
    "archive": "log export SESSION",
}

EPILOG: Final = """\
examples:
  ai-rails demo                                    the shipped example, no key needed
  ai-rails run "add a --json flag" --agent coder   let an agent work on this folder
  ai-rails new shop "a shop for tea"               begin a project; also feature and takeover
  ai-rails run --plan shop --agent planner --then coder,reviewer
  ai-rails run "fix the tests" --web               the same, decided in the browser
  ai-rails apply answer.md                         any saved answer, from any chat: edits, patches, whole files
  ai-rails gate --diff main                        only what is new since main
  ai-rails review                                  what happened, session by session
  ai-rails undo                                    take the last step back

exit codes:
  0  done, or passed
  1  findings, or refused, or denied
  2  the command line, a setting or a file of yours is wrong
  3  something could not be checked or run

environment:
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL   the model's service; a local server needs only the second
  OPENAI_API_KEY, OPENAI_BASE_URL         the same for openai:MODEL, which most other servers understand
  OLLAMA_BASE_URL                         where Ollama is, if not at http://127.0.0.1:11434
  AI_RAILS_MODEL                          the model when --model is not given
  AI_RAILS_STRONGER_MODEL                 fallback model after repeated failures
  AI_RAILS_STRICT                         1 or 0: send tools in the provider's strict mode to any server, or never;
                                          else only to the provider's own
  AI_RAILS_CONFIG_DIR                     folder of your policy and definitions
  AI_RAILS_KEYRING                        1: tools' secrets may come from the system's keyring as well
  AI_RAILS_LANG                           en or ja; else from the locale
  AI_RAILS_SANDBOX_READ                   folders that contained commands may read besides, with : between
  NO_COLOR                                no colours

files:
  .rails/                  in the project: session logs, checkpoints, hand-offs. Ignored by git by itself.
  mcp_definitions/*.json   in the project: one file adds one tool
  agent_templates/*.md     in the project: one file adds one agent
"""

setattr(argparse, "_", str)  # noqa: B010 - nobody has its words in another language, and to look loads "locale"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument command: ")
        head, _, wrong = message.partition("unrecognized arguments: ")
        if wrong and not head:
            message = f"unknown argument {wrong}{_meant(wrong.split(' ')[0], self._option_string_actions)}"
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}. See {self.prog} --help.\n")


def _meant(word: str, known: Iterable[str]) -> str:
    from rails.core.similarity import most_alike

    names = {name.lstrip("-"): name for name in known}
    near = most_alike(word.lstrip("-"), names)
    return f" (did you mean {names[near]}?)" if near else ""


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=max(20, columns() - 2))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return fitted(super()._fill_text(text, width, indent), sys.stdout)

    def format_help(self) -> str:
        usage, blank, rest = super().format_help().partition("\n\n")
        if usage.startswith("usage:") and max(map(len, usage.split("\n"))) > columns():
            flat = re.sub(r"[\[{][^\]}]*[\]}]+", lambda found: unbroken(found[0]), " ".join(usage.split()))
            usage = fitted(f"  {flat}", sys.stdout)
        return f"{usage}{blank}{rest}"


def top_parser(groups: Mapping[str, Mapping[str, str]]) -> argparse.ArgumentParser:
    """Return the parser of a command line without a verb."""
    parser = _Parser(
        prog="ai-rails",
        usage="ai-rails [-h] [--version] command ...",
        description="\n".join([DESCRIPTION, *_listed(groups)]),
        epilog=EPILOG,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ai-rails {__version__}")
    parser.add_argument("command", nargs="?", type=_verb_of(groups), help=argparse.SUPPRESS)
    return parser


def _listed(groups: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for title, verbs in groups.items():
        yield f"{title}:"
        yield from (f"  {name:<10}  {summary}" for name, summary in verbs.items())
        yield ""


def _verb_of(groups: Mapping[str, Mapping[str, str]]) -> Callable[[str], str]:
    def verb(word: str) -> str:
        if word in _IN_OTHER_WORDS:
            raise argparse.ArgumentTypeError(f"unknown command {word!r}; use: ai-rails {_IN_OTHER_WORDS[word]}")
        known = [name for verbs in groups.values() for name in verbs]
        raise argparse.ArgumentTypeError(f"unknown command {word!r}{_meant(word, known)}")

    return verb


def verb_parser(name: str, summary: str, module: ModuleType) -> argparse.ArgumentParser:
    """Return the parser of the words after the verb, whose module it is."""
    parser = _Parser(
        prog=f"ai-rails {name}",
        description=f"{summary[0].upper()}{summary[1:]}.",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    add_verb(parser, module)
    return parser


def add_verb(parser: argparse.ArgumentParser, module: ModuleType) -> None:
    """Add the options of a verb: its table, or what its own function adds."""
    if table := getattr(module, "OPTIONS", ""):
        add_options(parser, table)
    else:
        module.options(parser)


# -- kinds of values ------------------------------------------------------------------------------


def given(text: str) -> str:
    """Return a non-empty text."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the value is empty; perhaps a variable is not set")
    return text


def from_one(text: str) -> int:
    """Read a whole number from 1."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, not {text!r}")
    return int(text)


def above_zero(text: str) -> float:
    """Read a number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, not {text!r}")
    return value


def port_number(text: str) -> int:
    """Read the number of a port; 0 is a free one."""
    if not (text.isascii() and text.isdigit() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, not {text!r}")
    return int(text)


# -- options as a table ----------------------------------------------------------------------------

#: What a value is read as, by the word behind its name.
_KINDS = {"count": from_one, "number": above_zero, "port": port_number, "text": given}
_ROW: Final = re.compile(
    r"(?P<names>[\w/-]+)(?P<nargs>[?*+]?)"
    r"(?: (?P<value>[^\s(]+?)(?::(?P<kind>count|number|port|text))?(?P<more>\.{3})?)?"
    r"(?: \((?P<default>[^)]*)\))?\s{2,}(?P<help>.+)",
    re.DOTALL,
)
#: Rows that several verbs share.
_SHARED: Final = {
    "@project": "--project DIR (.)  the project folder (default: this one)",
    "@summary": "summary*  what it should become",
    "@approval": """
--approve ask|policy (ask)  ask: you decide. policy: your policy file first; you are asked about the rest, which is
    denied without a terminal (default: ask)
--plain  plain text output for screen readers
""",
    "@models": """
-m/--model MODEL  ollama:MODEL on this machine; anthropic:MODEL (with ANTHROPIC_API_KEY), openai:MODEL or
    responses:MODEL (OPENAI_API_KEY), gemini:MODEL (GEMINI_API_KEY), deepseek:MODEL (DEEPSEEK_API_KEY),
    openrouter:VENDOR/MODEL (OPENROUTER_API_KEY); openai:MODEL with OPENAI_BASE_URL for any other server;
    recorded:FILE
--base-url BASE_URL  another server with the provider's API
--model-for AGENT=MODEL...  one agent's model, with @URL for a server; may be repeated
--stronger-model MODEL  fallback model after repeated failures (asks first)
--overseer-model MODEL  a model that checks every turn; you decide what it stops or cannot judge
""",
    "@protocol": """
--protocol HOW=auto|native|json|edits|whole  how the model is asked: native (its provider's tools), json (blocks of
    JSON), edits (SEARCH/REPLACE blocks), whole (whole files), or auto, by a table of models (default)
""",
    "@dialects": """
--dialect NAME...  also read this call format: claude, cohere, deepseek, gemini, glm, granite, harmony, hermes, invoke,
    json, kimi, llama, minimax, mistral, name, qwen or react; may be repeated
""",
    "@correction": """
--correction off|syntax (syntax)  how far broken JSON is repaired: not at all, its syntax (default: syntax)
""",
    "@correction-model": """
--correction off|syntax|model (syntax)  how far broken JSON is repaired: not at all, its syntax, or by asking the model
    too (default: syntax)
""",
}


def add_options(parser: argparse._ActionsContainer, table: str) -> None:
    """Add the options of a table, one a row: names, value, default in brackets, two blanks, help.

    No value: a switch. ``N:count``: read as that kind. ``a|b``: one of these. ``X...``: may be repeated. ``[X]``: may
    be left out. A name without dashes is a word of the command line, ``?`` one that may be missing, ``*`` any number,
    ``+`` one or more.
    ``@name``: rows of that name; ``(unset)``: no default. ``> words``: a part of the description.
    """
    for row in re.split(r"\n(?=\S)", table.strip()):
        mark, _, rest = row.partition(" ")
        if mark in _SHARED:
            shared = _SHARED[mark]
            add_options(parser, re.sub(r" \(\w+\)  ", " (unset)  ", shared) if rest else shared)
        elif mark == ">":
            parser.description = f"{parser.description} {' '.join(rest.split())}"
        else:
            _add(parser, row)


def _add(parser: argparse._ActionsContainer, row: str) -> None:
    found = _ROW.fullmatch(row)
    if not found:
        raise ValueError(f"not a row of a table of options: {row}")
    names = found["names"].split("/")
    value = found["value"] or ""
    several = value.rpartition("=")[2]
    metavar = value.removesuffix(several).rstrip("=")
    more: dict[str, Any] = {"help": " ".join(found["help"].split())}
    if names[0][0] == "-" and not value:
        more["action"] = "store_true"
    if several.islower():
        more["choices"] = several.split("|")
    else:
        metavar = value
    if metavar:
        more["metavar"] = metavar.strip("[]")
    if value.startswith("["):
        more |= {"nargs": "?", "const": ""}
    if found["nargs"]:
        more["nargs"] = found["nargs"]
    if found["kind"]:
        more["type"] = _KINDS[found["kind"]]
    if found["more"]:
        more |= {"action": "append", "default": []}
    elif found["default"] is not None:
        more["default"] = None if found["default"] == "unset" else found["default"]
    parser.add_argument(*names, **more)
