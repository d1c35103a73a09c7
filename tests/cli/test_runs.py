"""Runs from the terminal, as real processes against a real server."""

import json
from pathlib import Path

import pytest

HELLO = """
digraph hello {
  goal = "say hello"
  start [shape=Mdiamond]
  hi [shape=parallelogram, script="echo hello; pwd"]
  done [shape=Msquare]
  start -> hi -> done
}
"""
LOOP = """
digraph loop {
  start [shape=Mdiamond]
  count [shape=parallelogram, script="echo x >> n; test $(wc -l < n) -ge 3"]
  again [shape=diamond]
  done [shape=Msquare]
  start -> count -> again
  again -> done [condition="outcome=succeeded"]
  again -> count [condition="outcome=failed"]
}
"""
FAILS = """
digraph fails {
  start [shape=Mdiamond]
  bad [shape=parallelogram, script="echo good; printf 'evil\\\\033[2Jline\\\\n'; exit 3"]
  done [shape=Msquare]
  start -> bad -> done
}
"""
GATE = """
digraph gate {
  start [shape=Mdiamond]
  ask [shape=hexagon, label="Ship it?"]
  ship [shape=parallelogram, script="echo shipped"]
  drop [shape=parallelogram, script="echo dropped"]
  done [shape=Msquare]
  start -> ask
  ask -> ship [label="[Y] Yes"]
  ask -> drop [label="[N] Not yet"]
  ship -> done
  drop -> done
}
"""
SLOW = """
digraph slow {
  start [shape=Mdiamond]
  nap [shape=wait, duration="120s"]
  done [shape=Msquare]
  start -> nap -> done
}
"""
