"""The only place that starts project code: ``run`` one command, ``start`` a long-lived one."""
