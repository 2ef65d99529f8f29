"""One module for each verb of the command line: ``run(options)`` does it and returns the exit code."""
