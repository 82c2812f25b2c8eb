"""Database migrations and generated contracts. Data only, read with importlib.resources."""
