"""An agent of the Agent Client Protocol: a session of ours in an editor."""
