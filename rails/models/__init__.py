"""Language models: protocol, providers, and a way to open them."""
