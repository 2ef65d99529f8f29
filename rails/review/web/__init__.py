"""The review in a browser: a server on the loopback interface, and one page without a build step."""
