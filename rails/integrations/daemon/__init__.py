"""A project's warm gate: a process on a private socket, started by the first hook."""
