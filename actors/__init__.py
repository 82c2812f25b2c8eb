"""The actors: who owns what at run time. Doors and actors talk through ``actors.address`` only."""
