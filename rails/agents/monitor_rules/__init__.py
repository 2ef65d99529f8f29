"""The overseer's rules: patterns in a session's log that a person should look at."""
