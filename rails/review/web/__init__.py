"""The review in a browser: a loopback server and one page."""
