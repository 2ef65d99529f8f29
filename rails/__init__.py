"""AI-Rails: find, validate, gate, approve and review what a model wants to do.

Importing this package runs nothing, prints nothing and opens no file. Start reading at
:mod:`rails.session.turn`, which is one turn from top to bottom.
"""

__version__ = "0.1.0"
