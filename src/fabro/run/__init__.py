"""What a run is: facts, and the fold that gives a run's state. Pure; above the workflow, below the store."""
