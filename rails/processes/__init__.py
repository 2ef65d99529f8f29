"""The one place that starts trusted programs: by absolute path, with a clean environment and limits."""
