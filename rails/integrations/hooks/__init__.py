"""Hooks of other agents: their JSON in, our verdict out."""
