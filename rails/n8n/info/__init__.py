"""What can be asked about n8n's nodes."""
