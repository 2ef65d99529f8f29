"""The human's say: what is asked, who answers, and the one place where a yes becomes a permission."""
