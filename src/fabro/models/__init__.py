"""Language models: one port, and what implements it. Above: handlers and the agent loop. Below: the run's words."""
