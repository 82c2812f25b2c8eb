"""Probes: the pool that looks at conditions, and one module per adapter."""
