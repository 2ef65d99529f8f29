"""The warm gate of a project: one process on a private socket, started by the first hook."""
