"""What each node type does, one module each. Above: dispatch wires them. Below: the engine's handler contract."""
