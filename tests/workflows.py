"""Small workflows for tests of doors."""

from fabro.workflow.version import Version

DONE = "digraph Done { start [shape=Mdiamond]; exit [shape=Msquare]; start -> exit }"
COMMAND = """
digraph Build {
  start [shape=Mdiamond]; exit [shape=Msquare]
  build [shape=parallelogram, script="make"]
  start -> build -> exit
}
"""
GATE = """
digraph Gate {
  start [shape=Mdiamond]; exit [shape=Msquare]
  gate [shape=hexagon, label="Ship it?"]
  start -> gate
  gate -> exit [label="[Y] Yes"]
  gate -> exit [label="[N] No"]
}
"""
AGENT = (
    'digraph Agent { start [shape=Mdiamond]; exit [shape=Msquare]; think [prompt="Hm?"]; start -> think -> exit }'
)


def version(source: str, *, name: str = "workflow.fabro") -> Version:
    """A version with one file."""
    return Version(entrypoint=name, files={name: source})
