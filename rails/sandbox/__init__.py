"""The one place that starts code of the judged tree: ``run`` for one command, ``start`` for what lives longer."""
