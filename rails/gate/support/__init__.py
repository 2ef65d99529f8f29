"""Shared by the checks: their protocol, settings and warm processes."""
