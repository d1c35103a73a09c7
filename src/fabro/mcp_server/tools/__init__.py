"""The tools, one module each: what a model reads about it, what it takes, what it gives back, what it does."""
