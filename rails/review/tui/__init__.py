"""The review as an application of the terminal. Needs Textual: ``pip install 'ai-rails[tui]'``."""
