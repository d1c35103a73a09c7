"""Written attributes to typed ones, and what to say about those that fit nowhere. Above: build. Below: values."""

from collections.abc import Mapping
from typing import NamedTuple

from fabro.dot.span import Source
from fabro.dot.syntax import Attribute
from fabro.workflow.attributes import (
    ALIASES,
    DRAWING,
    INPUT_PREFIX,
    SPECS,
    AttributeValue,
    Scope,
)
from fabro.workflow.diagnostics import Diagnostic, Severity
from fabro.workflow.suggest import closest
from fabro.workflow.values import WANTED, read_untyped, read_value


class Read(NamedTuple):
    """Attributes under today's names: their values, and how they are written."""

    values: Mapping[str, AttributeValue]
    written: Mapping[str, Attribute]


class Interpreter:
    """Reads the attributes of one file and collects what is strange about them, once for each place."""

    def __init__(self, source: Source) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._source = source
        self._told: set[int] = set()

    def read(
        self,
        scope: Scope,
        written: Mapping[str, Attribute],
        *,
        owner: str,
        node: str | None = None,
        edge: str | None = None,
    ) -> Read:
        """Values by declared type. What can't be read is left out, so that the default holds."""
        specs, aliases = SPECS[scope], ALIASES[scope]
        values: dict[str, AttributeValue] = {}
        renamed: dict[str, Attribute] = {}
        for key, attribute in written.items():
            name = aliases.get(key, key)
            if name != key and name in written:
                continue
            spec = specs.get(name)
            value = read_untyped(attribute.value) if spec is None else read_value(spec.kind, attribute.value)
            if value is not None:
                values[name] = value
            renamed[name] = attribute
            said = _strange(scope, name, attribute, value, owner)
            if said is not None and attribute.span.start not in self._told:
                self._told.add(attribute.span.start)
                rule, severity, message, fix = said
                self.diagnostics.append(
                    Diagnostic(
                        rule=rule,
                        severity=severity,
                        message=message,
                        fix=fix,
                        file=self._source.name,
                        span=attribute.span,
                        node=node,
                        edge=edge,
                    )
                )
        return Read(values, renamed)


def _strange(
    scope: Scope, name: str, attribute: Attribute, value: AttributeValue | None, owner: str
) -> tuple[str, Severity, str, str] | None:
    """What is strange about an attribute: rule, severity, message and fix."""
    spec = SPECS[scope].get(name)
    if name != attribute.key:
        message = f"`{attribute.key}` is an old name"
        return "old_name", Severity.HINT, message, f"write `{name}`"
    if spec is None:
        if name in DRAWING or (scope is Scope.NODE and name.startswith(INPUT_PREFIX)):
            return None
        return (
            "unknown_attribute",
            Severity.WARNING,
            f"`{name}` means nothing for {owner}",
            _known_name(scope, name),
        )
    if value is None:
        default = "nothing" if spec.default is None else "the default"
        message = f"`{name}` can't be read as {spec.kind}: `{attribute.value.text[:40]}`; {default} is used instead"
        return "unreadable_value", Severity.WARNING, message, f"write {WANTED[spec.kind]}"
    return None


def _known_name(scope: Scope, name: str) -> str:
    """What to write in place of an unknown name."""
    meant = closest(name, SPECS[scope])
    if meant:
        return f"did you mean `{meant}`? Otherwise delete it"
    elsewhere = [other for other in Scope if other is not scope and name in SPECS[other]]
    if elsewhere:
        return f"it belongs to a {elsewhere[0]}; move it there or delete it"
    return "delete it"
