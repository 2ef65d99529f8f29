"""Other programs: protocols over which they use our tools, gate and log."""
