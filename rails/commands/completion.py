"""``ai-rails completion SHELL``: a script that completes commands, options and their values in a shell.

The script holds all words itself, so a Tab starts no Python. It is made from the parsers that read the command line.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rails.commands.options import verb_parser
from rails.commands.verbs import VERBS
from rails.core.errors import EXIT_OK

SHELLS: Final = ("bash", "zsh", "fish")


@dataclass(frozen=True)
class Option:
    """One option of a verb: its spellings, what it does, whether a value follows, and which values there are."""

    names: tuple[str, ...]
    summary: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A verb's options, and the words that it takes by themselves; without any it takes file names."""

    name: str
    options: tuple[Option, ...]
    words: tuple[str, ...]

    @property
    def spellings(self) -> list[str]:
        """Every spelling of every option."""
        return [name for option in self.options for name in option.names]


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this verb takes."""
    parser.add_argument("shell", choices=SHELLS, help="which shell the script is for")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print("\n".join(write([verb_of(name) for name in VERBS])))
    return EXIT_OK


def verb_of(name: str) -> Verb:
    """Return what can follow the verb ``name``."""
    parser = verb_parser(name, VERBS[name], importlib.import_module(f"rails.commands.{name}").options)
    found: list[Option] = []
    words: list[str] = []
    for action in parser._actions:
        values = tuple(map(str, action.choices or ()))
        if action.option_strings:
            summary = (action.help or "").replace("%%", "%")
            found.append(Option(tuple(action.option_strings), summary, action.nargs != 0, values))
        else:
            words += values
    return Verb(name, tuple(found), tuple(words))


def _bash(verbs: list[Verb]) -> Iterator[str]:
    yield "# Completes ai-rails in bash. Made by: ai-rails completion bash"
    yield "_ai_rails() {"
    yield '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" options="" words=""'
    yield "    COMPREPLY=()"
    yield "    if (( COMP_CWORD == 1 )); then"
    yield f"        options='--help --version' words={_quoted(verb.name for verb in verbs)}"
    yield "    else"
    yield '        case "${COMP_WORDS[1]} $before" in'
    for verb in verbs:
        for option in filter(_asks, verb.options):
            values = f'COMPREPLY=($(compgen -W {_quoted(option.values)} -- "$word")); ' if option.values else ""
            yield f"            {_pattern(verb, option)}) {values}return ;;"
    yield "        esac"
    yield '        case "${COMP_WORDS[1]}" in'
    for verb in verbs:
        yield f"            {verb.name}) options={_quoted(verb.spellings)} words={_quoted(verb.words)} ;;"
    yield "        esac"
    yield "    fi"
    yield '    if [[ $word == -* ]]; then words="$options"; fi'
    yield '    COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _ai_rails ai-rails"


def _zsh(verbs: list[Verb]) -> Iterator[str]:
    yield "#compdef ai-rails"
    yield "# Completes ai-rails in zsh. Made by: ai-rails completion zsh"
    yield "_ai_rails() {"
    yield "    local -a verbs options values"
    yield f"    verbs=({' '.join(shlex.quote(f'{verb.name}:{VERBS[verb.name]}') for verb in verbs)})"
    yield "    if (( CURRENT == 2 )); then _describe command verbs; return; fi"
    yield '    case "$words[2] $words[CURRENT-1]" in'
    for verb in verbs:
        for option in filter(_asks, verb.options):
            values = f"compadd -- {' '.join(map(shlex.quote, option.values))}" if option.values else "_files"
            yield f"        {_pattern(verb, option)}) {values}; return ;;"
    yield "    esac"
    yield '    case "$words[2]" in'
    for verb in verbs:
        told = (f"{name}:{option.summary}" for option in verb.options for name in option.names)
        yield f"        {verb.name}) options=({' '.join(map(shlex.quote, told))}) values=({' '.join(verb.words)}) ;;"
    yield "    esac"
    yield '    if [[ "$PREFIX" == -* ]]; then _describe option options'
    yield "    elif (( $#values )); then compadd -a values"
    yield "    else _files; fi"
    yield "}"
    yield "compdef _ai_rails ai-rails"


def _fish(verbs: list[Verb]) -> Iterator[str]:
    yield "# Completes ai-rails in fish. Made by: ai-rails completion fish"
    for verb in verbs:
        summary = shlex.quote(VERBS[verb.name])
        yield f"complete -c ai-rails -f -n __fish_use_subcommand -a {verb.name} -d {summary}"
    for verb in verbs:
        after = f"complete -c ai-rails -n '__fish_seen_subcommand_from {verb.name}'"
        if verb.words:
            yield f"{after} -f -a {_quoted(verb.words)}"
        for option in verb.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a {_quoted(option.values)}" if option.values else " -r" if option.takes_value else ""
            yield f"{after} {names}{value} -d {_fish_text(option.summary)}"


def _asks(option: Option) -> bool:
    return option.takes_value


def _pattern(verb: Verb, option: Option) -> str:
    return "|".join(shlex.quote(f"{verb.name} {name}") for name in option.names)


def _quoted(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


def _fish_text(text: str) -> str:
    """Quote a text as fish reads it: within single quotes a backslash takes the next quote or backslash as it is."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
