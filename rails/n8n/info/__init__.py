"""Answers about n8n's nodes."""
