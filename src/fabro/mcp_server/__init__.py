"""The run tools as an MCP server: a catalogue of tools over the calls, and the ways to serve it.

Above: the CLI (`fabro mcp start`), the server's `/mcp`. Below: the calls.

Source: seed 000 "Fabro as an MCP server".
"""
