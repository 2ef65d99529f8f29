"""JavaScript and TypeScript: parser, ESLint and Prettier in one Node process, or Biome."""

from __future__ import annotations

from collections.abc import Sequence

from rails.gate.support.check import CheckContext, CheckJob, CheckReport, Kind


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Raises CheckError without Node.js or readable configuration."""
    from rails.gate.languages.javascript import config as jssettings
    from rails.gate.languages.javascript.biome import BiomeTools
    from rails.gate.languages.javascript.node_tools import NodeTools
    from rails.gate.support import config_files, executed_config
    from rails.gate.support.fix_and_lint import report_of
    from rails.gate.support.settings import PROJECT_FILE
    from rails.sandbox.probe import label
    from rails.sandbox.values import NONE

    config = jssettings.read_script_settings(context.project)
    if not context.trusted and (config.eslint_code or label().level == NONE):
        own_file = config_files.read_config_file(context.project / PROJECT_FILE)
        context.trusted = bool(executed_config.may_execute(context.project, own_file, context.home))
    tools: NodeTools = BiomeTools(context, config) if config.biome else NodeTools(context, config)
    return report_of(tools, jobs, context)


_ENDINGS = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"})
KIND = Kind("javascript", suffixes=_ENDINGS, place=30)
