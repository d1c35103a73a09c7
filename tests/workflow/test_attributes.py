from fabro.workflow.attributes import (
    ALIASES,
    DRAWING,
    SHAPE_OF,
    SHAPES,
    SPECS,
    TABLE,
    AttributeSpec,
    Kind,
    NodeType,
    Scope,
)

TYPES = {Kind.TEXT: str, Kind.INTEGER: int, Kind.NUMBER: float, Kind.FLAG: bool}


def test_each_attribute_has_one_row_for_what_it_belongs_to() -> None:
    rows = [(spec.scope, spec.name) for spec in TABLE]
    assert len(rows) == len(set(rows))
    assert all(spec.meaning for spec in TABLE)


def test_defaults_have_the_declared_type_and_are_choices() -> None:
    def fits(spec: AttributeSpec) -> bool:
        wanted = TYPES.get(spec.kind)
        return spec.default is None or wanted is None or type(spec.default) is wanted

    assert [spec.name for spec in TABLE if not fits(spec)] == []
    assert [spec.name for spec in TABLE if spec.choices and spec.default not in (None, *spec.choices)] == []


def test_aliases_lead_to_attributes_that_exist() -> None:
    for scope, aliases in ALIASES.items():
        assert set(aliases.values()) <= set(SPECS[scope])
        assert not set(aliases) & set(SPECS[scope])


def test_drawing_attributes_are_not_ours() -> None:
    assert not DRAWING & {spec.name for spec in TABLE}


def test_every_type_has_a_shape() -> None:
    assert set(SHAPES.values()) == set(NodeType) == set(SHAPE_OF)
    assert [scope.value for scope in Scope] == ["graph", "node", "edge"]
