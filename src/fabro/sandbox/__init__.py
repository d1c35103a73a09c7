"""Where commands run. Above: agents and handlers. Below: the run's facts. `port` says what a sandbox promises."""
