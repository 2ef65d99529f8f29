"""Tools: definition files, the contract of a request, and what runs a tool."""
