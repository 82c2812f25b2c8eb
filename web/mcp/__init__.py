"""The MCP door (contract section 10)."""
