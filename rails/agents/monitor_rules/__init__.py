"""The monitor's rules: log patterns for a person to look at."""
