"""The administration API: a Falcon application that asks actors, and the guard in front of it (contract 11)."""
