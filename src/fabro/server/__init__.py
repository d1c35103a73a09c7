"""The HTTP door: REST, event streams, the process that serves them. Above: assembly, CLI. Below: operations."""
