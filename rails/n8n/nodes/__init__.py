"""The descriptions of n8n's node types."""
