"""Events at rest. Above: the engine and the operations. Below: projections and what a run is."""
