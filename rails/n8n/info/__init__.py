"""What an agent or a person can ask about n8n's nodes."""
