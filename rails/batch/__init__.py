"""Many jobs: a run as a pure function, the store of results, the engines that run it, and what numbers say."""
