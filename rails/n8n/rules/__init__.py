"""One module for each group of rules about workflows."""
