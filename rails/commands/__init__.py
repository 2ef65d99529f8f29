"""One module for each verb: ``run(options)`` returns the exit code."""
