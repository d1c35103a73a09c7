"""Events folded into views. Pure; above what a run is, below the stores."""
