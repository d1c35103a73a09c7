"""The scripted model for tests. Above: tests. Below: `fabro.models.scripted`, which also serves whole processes."""

from fabro.models.scripted import SCRIPT_VARIABLE, Reply, ScriptedModel

__all__ = ["SCRIPT_VARIABLE", "Reply", "ScriptedModel"]
