"""The command line: the composition root. It may import everything and nobody imports it."""
