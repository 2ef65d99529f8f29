"""What changed between two versions of a workflow, in words."""
