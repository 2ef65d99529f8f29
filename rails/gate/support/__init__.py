"""What the checks share: their protocol, settings, deadlines and warm processes."""
