"""The review as an application of the terminal. Needs Textual, the extra ``tui``."""
