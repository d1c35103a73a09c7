"""The REST API from the caller's side. Above: the MCP server's tools, the CLI. Below: calls."""
