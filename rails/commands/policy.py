"""``ai-rails policy``: check the policy file and try it on past sessions."""

from __future__ import annotations

import argparse

from rails.approval.policy.places import POLICY_NAME
from rails.approval.policy.policy import load_policy
from rails.commands import common
from rails.core.app_dirs import config_folder
from rails.core.errors import EXIT_FINDINGS, EXIT_OK
from rails.core.text import counted
from rails.review.reports.dry_run import dry_run, dry_run_as_text
from rails.session.project import state_of

OPTIONS = """
@project
"""


def run(options: argparse.Namespace) -> int:
    """Load and try the policy; exit 1 if it allows a past denial."""
    project = common.project_of(options)
    policy = load_policy(project)
    where = f"{config_folder() / POLICY_NAME} and the project"
    common.print_row("", f"{counted(len(policy.rules), 'rule')} in {where}; examples hold.")
    report = dry_run(policy, common.views_of(state_of(project)))
    print(dry_run_as_text(report))
    return EXIT_FINDINGS if report.slipped else EXIT_OK
