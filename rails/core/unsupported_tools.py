"""Tools and options of other programs, and why they are missing here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rails.core.builtin_tools import FETCH_WEBPAGE
from rails.core.tool_request import Json

_FOLDERS: Final = "Folders are made with the first file in them, and go with the last."
_PACKAGES: Final = (
    "Nothing is installed for an agent: it would run code that nobody has read. Write the package into the project's "
    "manifest with an edit, and say in words that the user has to install it."
)
_SQL: Final = "No database is reached from here. Write the statement into a file of the project for the user to run."
_PAGES: Final = (
    "No page is fetched: the user has allowed no host. They can, in the config.toml of their configuration folder: "
    '[fetch] hosts = ["docs.python.org"]. Do without it, or ask them in words.'
)
_REASONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("create_directory", "delete_folder"), _FOLDERS),
    **dict.fromkeys(("add_package", "remove_package"), _PACKAGES),
    **dict.fromkeys((FETCH_WEBPAGE.name, "FetchMCP"), _PAGES),
    "execute_sql": _SQL,
}
#: Options of edits: what they may say, because it is what happens anyway, and why they may say nothing else.
OPTIONS: Final[Mapping[str, tuple[Json, str]]] = {
    "dryRun": (False, "Leave it out: a person sees the whole change before anything is written."),
    "rollbackOnFailure": (
        True,
        "Leave it out, or send it with edit_file or multi_edit: a whole file is never in part.",
    ),
}


def reason(tool_name: str) -> str:
    """Return why this tool is not offered, and what to do; else ""."""
    return _REASONS.get(tool_name, "")


def reason_of_option(name: object) -> str:
    """Return why an edit has no such option, or ""."""
    return OPTIONS[name][1] if isinstance(name, str) and name in OPTIONS else ""
