"""One module for each report over sessions."""
