"""Expressions and code in workflows."""
