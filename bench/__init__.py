"""Benchmarks of the real process over loopback HTTP. Figures, never assertions: see README.md."""
