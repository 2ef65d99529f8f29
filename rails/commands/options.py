"""The options of every verb, as ``--help`` prints them. One verb's parser is made alone where that is much faster."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, Union

from rails import __version__

DESCRIPTION: Final = """\
Let a model write code in your repository, and trust none of what it writes.

AI-Rails finds the tool requests in a model's answer, repairs their syntax where that is safe, validates
them, turns edits into an exact change set, runs formatters and linters on the proposed bytes, sends every
failure back to the model, asks you, and only then writes: all or nothing, and undoable.
"""

EPILOG: Final = """\
examples:
  ai-rails demo                                    the shipped example, no key needed
  ai-rails run "add a --json flag" --agent coder   let an agent work on this folder
  ai-rails new shop "a shop for tea"               begin a project; also feature and takeover
  ai-rails run --plan shop --agent planner --then coder,reviewer
  ai-rails run "fix the tests" --web               the same, decided in the browser
  ai-rails apply answer.md                         any saved answer, from any chat
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
  AI_RAILS_MODEL                          the model when --model is not given
  AI_RAILS_STRONGER_MODEL                 who may take over when attempts run out
  AI_RAILS_STRICT                         1 or 0: send tools in the provider's strict mode to any server, or never;
                                          else only to the provider's own
  AI_RAILS_CONFIG_DIR                     where your policy and definitions are, instead of the usual place
  AI_RAILS_KEYRING                        1: tools' secrets may come from the system's keyring as well
  AI_RAILS_LANG                           en or ja; else from the locale
  NO_COLOR                                no colours

files:
  .rails/                  in the project: session logs, checkpoints, hand-offs. Ignored by git by itself.
  mcp_definitions/*.json   in the project: one file adds one tool
  agent_templates/*.md     in the project: one file adds one agent
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal; argparse asks for its width anew at every option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


@cache
def _columns() -> int:
    """What ``shutil.get_terminal_size`` says, without the three libraries of compression that it imports."""
    with contextlib.suppress(ValueError):
        if (named := int(os.environ.get("COLUMNS", ""))) > 0:
            return named
    with contextlib.suppress(AttributeError, ValueError, OSError):
        if sys.__stdout__ is not None:
            return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80
    return 80


class _Alone:
    """Stands where argparse keeps all verbs, for one verb that is parsed without the others."""

    def add_parser(
        self, name: str, *, help: str, description: str, formatter_class: type[_Help], allow_abbrev: bool
    ) -> argparse.ArgumentParser:
        """Return the parser of the words after the verb; ``help`` is for a list of verbs, which there is not."""
        del help
        return argparse.ArgumentParser(
            prog=f"ai-rails {name}",
            description=description,
            formatter_class=formatter_class,
            allow_abbrev=allow_abbrev,
        )


_Verbs = Union["argparse._SubParsersAction[argparse.ArgumentParser]", _Alone]


def parse_options(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line. Prints help or what is wrong, and raises SystemExit, as argparse does."""
    if words and words[0] in _ALONE:
        return _ALONE[words[0]](_Alone()).parse_args(words[1:])
    return parser().parse_args(words)


def parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    parser = argparse.ArgumentParser(
        prog="ai-rails",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ai-rails {__version__}")
    verbs = parser.add_subparsers(metavar="command", title="commands", prog="ai-rails")
    _add_work(verbs)
    _add_apply(verbs)
    _add_gate(verbs)
    _add_kickoff(verbs)
    _add_back(verbs)
    _add_look(verbs)
    _add_setup(verbs)
    return parser


def _verb(verbs: _Verbs, name: str, summary: str, *, more: str = "") -> argparse.ArgumentParser:
    verb = verbs.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}. {more}".strip(),
        formatter_class=_Help,
        allow_abbrev=False,
    )
    verb.set_defaults(verb=name)
    return verb


def _project(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--project", metavar="DIR", default=".", help="the project folder (default: this one)")


def _approval(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--approve",
        choices=("ask", "policy"),
        default="ask",
        help="ask you each time, or let your policy file decide and deny what it would ask (default: ask)",
    )
    verb.add_argument("--plain", action="store_true", help="for screen readers: words instead of signs, no colour")


def _dialects(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--dialect",
        action="append",
        default=[],
        metavar="NAME",
        help="also read this wire format: hermes, invoke, mistral, react, name, cohere or gemini; may be repeated",
    )


def _correction(verb: argparse.ArgumentParser, *more: str) -> None:
    asking = ", or by asking the model too" if more else ""
    verb.add_argument(
        "--correction",
        choices=("off", "syntax", *more),
        default="syntax",
        help=f"how far broken JSON is mended: not at all, its syntax{asking} (default: syntax)",
    )


def _add_work(verbs: _Verbs) -> argparse.ArgumentParser:
    run = _verb(verbs, "run", "let an agent work on a task")
    run.add_argument("task", nargs="?", help="what to do, in words; with --resume: advice for an agent that gave up")
    run.add_argument("--agent", default="coder", help="which agent (default: coder)")
    run.add_argument(
        "--then",
        metavar="AGENTS",
        action="append",
        default=[],
        help="then these agents, one after the other (coder,reviewer), or one with a task of its own (AGENT=TASK)",
    )
    run.add_argument("--plan", metavar="NAME", help="a plan of new, feature or takeover, or a file: the first agent's")
    run.add_argument("--handoff", choices=("ask", "go"), help="between agents: ask you, or go on (default: ask you)")
    run.add_argument("--model", help="anthropic:MODEL, openai:MODEL or recorded:FILE")
    run.add_argument("--base-url", help="a local or other server that speaks the provider's API")
    run.add_argument(
        "--model-for",
        metavar="AGENT=MODEL",
        action="append",
        default=[],
        help="this agent's model, with @URL for a server of its own; may be repeated",
    )
    run.add_argument("--stronger-model", metavar="MODEL", help="who may take over when attempts run out, if you agree")
    run.add_argument(
        "--escalate",
        choices=("off", "squash", "model"),
        help="when attempts run out: stop, begin afresh once, then a stronger model (default: model, unattended off)",
    )
    run.add_argument("--max-attempts", type=int, metavar="N", help="failed attempts in a row (default: the agent's, 3)")
    run.add_argument("--max-turns", type=int, metavar="N", help="turns of an agent (default: the agent's, 25)")
    run.add_argument("--max-tokens", type=int, metavar="N", help="tokens of the whole run (default: no bound)")
    run.add_argument("--max-minutes", type=float, metavar="N", help="minutes of the whole run (default: no bound)")
    run.add_argument("--max-cost", type=float, metavar="N", help="money for the whole run, by your prices.toml")
    run.add_argument(
        "--resume", nargs="?", const="", metavar="SESSION", help="go on with a session (default: the last)"
    )
    run.add_argument("--web", action="store_true", help="also show the run in the browser, and take decisions there")
    run.add_argument(
        "--answer-within",
        type=float,
        metavar="MINUTES",
        help="pause the run when nobody answers in time (default: wait)",
    )
    run.add_argument("--events", choices=("jsonl", "sse"), help="events for another program on standard output")
    _correction(run, "model")
    _dialects(run)
    run.add_argument("--commit", action="store_true", help="in the end, one clean commit on your branch")
    run.add_argument("--debug", action="store_true", help="show what the model is sent and the blocks it sends")
    _project(run)
    _approval(run)
    return run


def _add_apply(verbs: _Verbs) -> argparse.ArgumentParser:
    apply = _verb(verbs, "apply", "apply a saved answer: find, validate, gate, show, approve, write")
    apply.add_argument("file", nargs="?", default="-", help="the answer (default: standard input)")
    apply.add_argument("--agent", default="coder", help="whose tools the answer may use (default: coder)")
    apply.add_argument("--dry-run", action="store_true", help="do everything but ask and write")
    apply.add_argument("--json", action="store_true", help="the result as JSON")
    apply.add_argument("--jsonl", action="store_true", help='one {"id", "text"} per line in, one result per line out')
    _correction(apply)
    _dialects(apply)
    apply.add_argument("--commit", action="store_true", help="in the end, one clean commit on your branch")
    apply.add_argument("--debug", action="store_true", help="show the blocks as they were found")
    _project(apply)
    _approval(apply)
    return apply


def _add_gate(verbs: _Verbs) -> argparse.ArgumentParser:
    gate = _verb(verbs, "gate", "check files: syntax, linters, formatters, n8n workflows")
    gate.add_argument("paths", nargs="*", help="files or folders (default: what git knows of)")
    gate.add_argument("--diff", metavar="REF", help="only files changed since REF, and only what is new since then")
    gate.add_argument("--staged", action="store_true", help="only staged files, and only what is new since HEAD")
    gate.add_argument("--all", action="store_true", help="every file that git knows of (this is the default)")
    gate.add_argument("--fix", action="store_true", help="write safe fixes and formatting")
    gate.add_argument("--format", default="text", metavar="FORMAT", help="text, json, sarif, github, junit or rdjson")
    words = "let the project's own commands and executable configuration run as they are now, and remember it"
    gate.add_argument("--trust", action="store_true", help=words)
    gate.add_argument("--explain", action="store_true", help="say which checks ran, with which configuration")
    profiles = ("import", "api", "publish", "strict")
    gate.add_argument("--profile", choices=profiles, default="import", help="where n8n workflows go (default: import)")
    gate.add_argument("--strict", action="store_true", help="a missing optional check fails too")
    _project(gate)
    return gate


def _add_back(verbs: _Verbs) -> None:
    undo = _verb(verbs, "undo", "take a step of a session back, byte for byte")
    undo.add_argument("session", nargs="?", help="which session (default: the last)")
    undo.add_argument("--step", type=int, metavar="N", help="which step (default: the last)")
    undo.add_argument("--all", action="store_true", help="every step of the session, the last first")
    _project(undo)

    redo = _verb(verbs, "redo", "do an undone step again")
    redo.add_argument("session", nargs="?", help="which session (default: the last that has one)")
    redo.add_argument("--step", type=int, metavar="N", help="which step (default: the last undone)")
    _project(redo)

    demo = _verb(verbs, "demo", "run the shipped example on a fresh copy")
    demo.add_argument("--interactive", action="store_true", help="answer the approvals yourself")
    demo.add_argument("--keep", metavar="DIR", help="put the copy there instead of in a temporary folder")


def _add_kickoff(verbs: _Verbs) -> None:
    new = _verb(verbs, "new", "begin a project: its folder and a page to fill in")
    new.add_argument("name", help="the project's name, and its folder's")
    new.add_argument("--into", metavar="DIR", default="workspace", help="where its folder goes (default: workspace)")
    feature = _verb(verbs, "feature", "begin a feature of this project: a page to fill in")
    feature.add_argument("name", help="the feature's name")
    _project(feature)
    takeover = _verb(verbs, "takeover", "take over a project: a page with what is there, to fill in")
    takeover.add_argument("folder", metavar="DIR", help="the project's folder")
    takeover.add_argument("--name", help="the plan's name (default: the folder's)")
    for kind, verb in (("new", new), ("feature", feature), ("takeover", takeover)):
        verb.add_argument("summary", nargs="*", help="what shall come of it, in words")
        verb.set_defaults(verb="kickoff", kind=kind)


#: Verbs that hooks and scripts wait for: the options of the others are not made for them.
_ALONE: Final[Mapping[str, Callable[[_Verbs], argparse.ArgumentParser]]] = {
    "run": _add_work,
    "apply": _add_apply,
    "gate": _add_gate,
}

_REPORTS: Final = {
    "models": "how each model and prompt did, with 95 %% intervals",
    "rules": "which rules fired where, and what they cost",
    "drift": "where mending JSON changed a value",
    "decisions": "who approved what, when, after how long",
}


def _add_look(verbs: _Verbs) -> None:
    parse = _verb(verbs, "parse", "show what is found in a text: requests, refusals, ignored blocks")
    parse.add_argument("file", nargs="?", default="-", help="the text (default: standard input)")
    parse.add_argument("--json", action="store_true", help="the result as JSON")
    parse.add_argument("--jsonl", action="store_true", help='one {"id", "text"} per line in, one result per line out')
    _dialects(parse)
    parse.add_argument("--stream-chunks", type=int, metavar="N", help="feed the text in pieces of N characters")
    parse.add_argument(
        "--finish", default="end_turn", metavar="REASON", help="why the model stopped (default: end_turn)"
    )
    _project(parse)

    review = _verb(
        verbs,
        "review",
        "list sessions, show one turn by turn, compare two, or look over all",
        more="--filter takes a search line: words of the task, role: model: path: rule: is:failed is:denied after: ….",
    )
    review.add_argument("session", nargs="?", help="which session, or 'last'")
    review.add_argument("--compare", metavar="SESSION", help="what differed in this other session")
    for name, words in _REPORTS.items():
        review.add_argument(f"--{name}", action="store_const", const=name, dest="report", help=words)
    review.add_argument("--by", choices=("session", "week"), default="session", help="columns of --rules")
    review.add_argument("--filter", default="", metavar="LINE", help="only sessions that this line asks for")
    review.add_argument("--plain", action="store_true", help="plain text, also where Textual is installed")
    review.add_argument("--web", action="store_true", help="in the browser, as ai-rails serve does")
    review.add_argument("--port", type=int, default=0, metavar="N", help="with --web: which port (default: a free one)")
    review.add_argument("--json", action="store_true", help="the result as JSON")
    review.add_argument("--html", metavar="FILE", help="write it as one self-contained page")
    review.add_argument("--verify", action="store_true", help="check the log's hash chain")
    _project(review)

    log = _verb(
        verbs,
        "log",
        "search all sessions, verify a log, export a session",
        more=(
            'Search words, "phrases" and fields: type role model tool path rule code by is session after before; '
            'text:"rse_req" is any piece of text, also inside words.'
        ),
    )
    log.add_argument("action", choices=("search", "verify", "export"), help="what to do")
    log.add_argument("words", nargs="*", help="the search line, or a session (default: the last)")
    log.add_argument("--limit", type=int, default=50, metavar="N", help="hits at most (default: 50)")
    log.add_argument("--format", default="markdown", help="markdown, html, sarif, transcript, atif or recording")
    _project(log)

    serve = _verb(verbs, "serve", "the sessions as a page in the browser, on this machine only")
    serve.add_argument("--port", type=int, default=0, metavar="N", help="which port (default: a free one)")
    _project(serve)

    why = _verb(verbs, "why", "which edit made a line, and who approved it")
    why.add_argument("place", metavar="FILE:LINE", help="the line, for example src/app.py:12")
    _project(why)


def _add_setup(verbs: _Verbs) -> None:
    tools = _verb(
        verbs,
        "tools",
        "list, show, check, start, trust, try, import and offer tools",
        more=(
            "Actions: list, show NAME, check [FOLDER] (mistakes in the files; then programs, services, servers and "
            "secrets that are missing), new NAME, trust [NAME], test NAME [PARAMETERS], "
            "import [.mcp.json or URL] (one file for each tool of the servers), serve (as an MCP server)."
        ),
    )
    actions = ("list", "show", "check", "new", "trust", "test", "import", "serve")
    tools.add_argument("action", nargs="?", choices=actions, default="list", help="what to do (default: list)")
    tools.add_argument("name", nargs="?", help="a tool's name, a folder or a file, as the action needs it")
    tools.add_argument("parameters", nargs="?", help="with test: the tool's parameters as JSON (default: its examples)")
    tools.add_argument("--role", default="coder", help="with serve: whose tools are offered (default: coder)")
    tools.add_argument("--files-only", action="store_true", help="with check: not whether what they need is there")
    tools.add_argument("--json", action="store_true", help="the result as JSON")
    _project(tools)

    n8n = _verb(
        verbs,
        "n8n",
        "workflows of n8n: rules, node catalogue, picture, diff",
        more=(
            "Actions: rules, catalogue [info], catalogue build SOURCE (your n8n: an export:nodes file, a folder or "
            ".tgz files), draw FLOW.json [--before OLD.json] [-o FILE.svg], diff OLD.json NEW.json."
        ),
    )
    about_flows = ("rules", "catalogue", "draw", "diff")
    n8n.add_argument("action", nargs="?", choices=about_flows, default="rules", help="what to do (default: rules)")
    n8n.add_argument("words", nargs="*", help="files, or info and build, as the action needs them")
    n8n.add_argument("--build", metavar="SOURCE", help="with catalogue: the same as catalogue build SOURCE")
    n8n.add_argument("--before", metavar="OLD", help="with draw: the older version, to colour what changed")
    n8n.add_argument("-o", "--output", metavar="FILE", help="with draw: where (default: FLOW.svg; - is the screen)")
    n8n.add_argument("--json", action="store_true", help="the result as JSON")

    grants = _verb(
        verbs,
        "grants",
        "list the grants in force, or revoke one",
        more="A grant is what you gave with g at a question; it lives in the run that you gave it to.",
    )
    grants.add_argument("action", nargs="?", choices=("list", "revoke"), default="list", help="what to do")
    grants.add_argument("number", nargs="?", help="with revoke: the grant's number, or all")
    _project(grants)

    policy = _verb(verbs, "policy", "check your policy file and try it on past sessions")
    _project(policy)

    agents = _verb(verbs, "agents", "list the agents, show one, or accept a project's own")
    agents.add_argument("name", nargs="?", help="show this agent and the prompt it gets; or: trust")
    agents.add_argument("which", nargs="?", help="with trust: which agent (default: all that wait)")
    agents.add_argument("--json", action="store_true", help="the result as JSON")
    _project(agents)

    doctor = _verb(verbs, "doctor", "say what works here and what is missing")
    doctor.add_argument("--install", choices=("javascript",), help="install pinned tools for the gate (needs npm)")
    doctor.add_argument("--into", metavar="DIR", help="with --install: where (default: your cache folder)")
    doctor.add_argument("--json", action="store_true", help="the result as JSON")
    _project(doctor)
