"""What of a project a human has read and accepted, by digest."""
