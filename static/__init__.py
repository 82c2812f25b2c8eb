"""The WebUI as it is served: HTML, CSS and ES modules. Data only, read with importlib.resources."""
