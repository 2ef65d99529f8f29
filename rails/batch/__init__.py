"""Many jobs: runs, their store, engines and statistics."""
