"""The only code that starts trusted programs: absolute path, clean environment, limits."""
