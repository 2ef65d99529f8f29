"""One module for each wire format of tool calls."""
