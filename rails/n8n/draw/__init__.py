"""Pictures of workflows."""
