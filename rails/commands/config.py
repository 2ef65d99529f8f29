"""``ai-rails config``: every setting, its value and source; or a schema for an editor."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path

from rails.approval.policy.policy import load_policy
from rails.commands import common, user_env
from rails.config.settings_file import SCHEMAS, SchemaName, schema_text
from rails.config.sources import ORDER, AllSettings, Setting, all_settings
from rails.core.app_dirs import config_folder
from rails.core.errors import EXIT_OK, CheckError, UsageError
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.gate.support.settings import read_gate_settings

OPTIONS = f"""
> Precedence: {ORDER}. With schema: the JSON Schema of a settings file, which editors read from a first line such as
    #:schema ./policy.schema.json
action? show|schema (show)  what to do
name?  with schema: {", ".join(SCHEMAS)}
--json  the result as JSON
@project
"""


def run(options: argparse.Namespace) -> int:
    """Print settings or schema. Raises UsageError for a wrong file, after showing the rest."""
    if options.action == "schema":
        print(schema_text(_schema_name(options.name)), end="")
        return EXIT_OK
    if options.name:
        raise UsageError(f"show takes no {one_line(options.name)!r}: it shows every setting.")
    project = common.project_of(options)
    found = all_settings(project, config_folder(), os.environ, user_env.TAKEN)
    if options.json:
        settings: list[Json] = [
            {"name": one.name, "value": one.value, "source": one.source, "line": one.line} for one in found.settings
        ]
        common.print_json({"order": ORDER, "settings": settings, "mistakes": list(found.mistakes)})
    else:
        _show(found, project)
    if mistakes := found.mistakes or tuple(_beyond_shape(project)):
        raise UsageError("\n".join(("A settings file cannot be used. Nothing was changed.", *mistakes)))
    return EXIT_OK


def _schema_name(given: str | None) -> SchemaName:
    for name, file in SCHEMAS.items():
        if given in (name, file):
            return name
    raise UsageError(f"Which schema? There are {', '.join(SCHEMAS)}. For example: ai-rails config schema policy")


def _show(found: AllSettings, project: Path) -> None:
    common.print_row("", f"The first place that sets a value counts: {ORDER}.")
    print(f"your files: {config_folder()}")
    print(f"project:    {project}")
    wide = max(len(one.name) for one in found.settings)
    for one in found.settings:
        source = f"{Path(one.source).name}:{one.line}" if one.line else one.source
        common.print_row(f"  {one.name:{wide}}  ", f"{_value(one)}  ({source})")


def _value(one: Setting) -> str:
    shown = (
        str(one.value)
        if (isinstance(one.value, str) and one.source == "default")
        else json.dumps(one.value, ensure_ascii=False)
    )
    return one_line(shown, 200)


def _beyond_shape(project: Path) -> Iterator[str]:
    for read in (load_policy, read_gate_settings):
        try:
            read(project)
        except (CheckError, UsageError) as error:
            yield str(error)
