"""The administration API: a Falcon application that asks actors, behind a guard (contract 11)."""
