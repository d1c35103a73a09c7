"""What a workflow means: syntax to graph, valid graph and version. Pure; above dot, below run."""
