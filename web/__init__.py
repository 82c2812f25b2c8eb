"""The doors: HTTP, MCP and health. They turn requests into messages and await replies; they own no state."""
