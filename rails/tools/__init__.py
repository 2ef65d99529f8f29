"""Tools: definition files, the contract that a request must satisfy, and what runs a tool."""
