"""Which type a node has. Above: build. Below: attributes.

An explicit type wins over the shape, the shape over a script. Start and exit come first: their shapes, or a node
that bears their name, whatever shape it is drawn with (reference/engine.md §1.7, §2; design §4.3).
"""

from collections.abc import Mapping

from fabro.workflow.attributes import EXIT_IDS, SHAPES, START_IDS, TYPE_ALIASES, AttributeValue, NodeType


def type_of(node_id: str, attributes: Mapping[str, AttributeValue]) -> NodeType:
    """The type of a node with these attributes; an agent where nothing else is said."""
    explicit = known_type(str(attributes.get("type", "")))
    shape = SHAPES.get(str(attributes.get("shape", "")))
    for candidate in (explicit, shape, _type_of_id(node_id)):
        if candidate is NodeType.START or candidate is NodeType.EXIT:
            return candidate
    named = explicit or shape
    if named:
        return named
    is_bare = not attributes.get("shape") and not attributes.get("type")
    return NodeType.COMMAND if is_bare and attributes.get("script") else NodeType.AGENT


def known_type(name: str) -> NodeType | None:
    """The type of that name, old names included; None if there is none."""
    if name in TYPE_ALIASES:
        return TYPE_ALIASES[name]
    return NodeType(name) if name in _NAMES else None


def _type_of_id(node_id: str) -> NodeType | None:
    if node_id in START_IDS:
        return NodeType.START
    return NodeType.EXIT if node_id in EXIT_IDS else None


_NAMES = frozenset(NodeType)
