"""AI-Rails: find, validate, gate, approve and review what a model wants to do.

Importing this package runs nothing, prints nothing and opens no file. Start reading at
:mod:`rails.session.turn`, which is one turn from top to bottom.

Public are the names of ``__all__`` and what they take, return and raise; each is imported when it is first used.
``docs/python-api.md`` shows them at work. Everything else may change with every version.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rails.batch.job_spec import JobResult, JobSpec
    from rails.batch.run_job import run_job
    from rails.core.errors import RailsError
    from rails.gate.gate import Gate
    from rails.session.apply import AppliedAnswer
    from rails.session.apply import apply_answer as apply
    from rails.session.apply import parse_answer as parse
    from rails.session.apply import run_task as run
    from rails.session.apply import validate_request as validate

__version__ = "0.1.0"
__all__ = [
    "AppliedAnswer",
    "Gate",
    "JobResult",
    "JobSpec",
    "RailsError",
    "__version__",
    "apply",
    "parse",
    "run",
    "run_job",
    "validate",
]

#: Where each public name is.
_PLACES = {
    "AppliedAnswer": "rails.session.apply:AppliedAnswer",
    "Gate": "rails.gate.gate:Gate",
    "JobResult": "rails.batch.job_spec:JobResult",
    "JobSpec": "rails.batch.job_spec:JobSpec",
    "RailsError": "rails.core.errors:RailsError",
    "apply": "rails.session.apply:apply_answer",
    "parse": "rails.session.apply:parse_answer",
    "run": "rails.session.apply:run_task",
    "run_job": "rails.batch.run_job:run_job",
    "validate": "rails.session.apply:validate_request",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used. Raises AttributeError for a name that there is not."""
    if name not in _PLACES:
        raise AttributeError(f"module 'rails' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _PLACES[name].partition(":")
    found: object = getattr(import_module(module), attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the public names, also those that are not imported yet."""
    return sorted({*globals(), *__all__})
