"""The command line: add, list, done."""

import argparse
from pathlib import Path

from todo.store import Store, Task


def main(argv: list[str] | None = None) -> int:
    """Run one command and return the exit code."""
    options = _parser().parse_args(argv)
    store = Store(options.file)
    if options.command == "add":
        print(_line(store.add(options.title)))
    elif options.command == "done":
        return _finish(store, options.number)
    else:
        _show(store.tasks())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="todo", description="A todo list.")
    parser.add_argument("--file", type=Path, default=Path("todo.json"))
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="add a task")
    add.add_argument("title")
    done = commands.add_parser("done", help="mark a task as done")
    done.add_argument("number", type=int)
    commands.add_parser("list", help="show the tasks")
    return parser


def _finish(store: Store, number: int) -> int:
    try:
        print(_line(store.finish(number)))
    except KeyError:
        print(f"There is no task {number}.")
        return 1
    return 0


def _show(tasks: list[Task]) -> None:
    for task in tasks:
        print(_line(task))


def _line(task: Task) -> str:
    return f"{task.number:3} [{'x' if task.done else ' '}] {task.title}"
