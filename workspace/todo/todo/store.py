"""Where tasks are kept: one JSON file, replaced as a whole."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Task:
    """One thing to do."""

    number: int
    title: str
    done: bool = False


class Store:
    """The tasks of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tasks(self) -> list[Task]:
        """Return the tasks in the order in which they were added."""
        if not self._path.exists():
            return []
        return [Task(**item) for item in json.loads(self._path.read_text("utf-8"))]

    def add(self, title: str) -> Task:
        """Add a task and return it."""
        tasks = self.tasks()
        task = Task(number=len(tasks) + 1, title=title)
        self._save([*tasks, task])
        return task

    def finish(self, number: int) -> Task:
        """Mark a task as done and return it. Raises KeyError if there is none."""
        tasks = self.tasks()
        for index, task in enumerate(tasks):
            if task.number == number:
                tasks[index] = Task(task.number, task.title, done=True)
                self._save(tasks)
                return tasks[index]
        raise KeyError(number)

    def _save(self, tasks: list[Task]) -> None:
        temporary = self._path.with_suffix(".tmp")
        text = json.dumps([asdict(task) for task in tasks], indent=2)
        temporary.write_text(text, "utf-8")
        os.replace(temporary, self._path)
