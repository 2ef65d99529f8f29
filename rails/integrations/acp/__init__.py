"""The Agent Client Protocol: our sessions in an editor."""
