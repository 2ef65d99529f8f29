"""What the checks share: their protocol, settings and warm processes."""
