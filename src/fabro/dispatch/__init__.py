"""Who executes a run. Above: operations. Below: the engine's runner and the handlers."""
