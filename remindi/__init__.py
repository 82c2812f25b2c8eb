"""Remindi's domain: what an obligation is. Pure: no threads, sockets, SQL, clock or environment reads."""

__version__ = "0.1.0"
