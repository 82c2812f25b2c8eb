"""Backups: the controller, its jobs, the restore with its journal, and the directory where all of it lies."""
