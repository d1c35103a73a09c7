"""Decide and drive: a pure brain (`decide`, `route`) and one hand (`runner`). Below the handlers."""
