"""Rules and grants: what is decided without asking."""
