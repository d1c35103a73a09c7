"""The terminal door: commands over `fabro.calls`, what they print, and one error boundary."""
