"""What a human accepted of a project, by digest."""
