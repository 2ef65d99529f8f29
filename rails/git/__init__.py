"""What is asked of git, with nothing of the judged repository run."""
