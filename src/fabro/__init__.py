"""Fabro: durable workflows of agents, commands and people.

`import fabro` loads nothing else; each part is imported from where it lives.
"""

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """The version of the installed package, `0+unknown` when it runs from a bare source tree."""
    try:
        return version("fabro")
    except PackageNotFoundError:
        return "0+unknown"
