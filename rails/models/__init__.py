"""The language models: one protocol, one dict of providers, one way to open them."""
