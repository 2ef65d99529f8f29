"""Hooks of other agents: their JSON in, our verdict out, in the form that each host counts."""
