"""Rules and grants: what may be decided without asking, and what may never be."""
