"""Approval by a human or a policy; the one place where a yes becomes a permission."""
