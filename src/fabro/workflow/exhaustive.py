"""Whether some condition of a set always holds. Above: rules. Below: condition.

Every assignment of truth to the clauses is tried. Clauses about the same key that compare with `=` share the value
of that key; all others are taken as independent, so that the answer is never yes by mistake.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from fabro.workflow.attributes import OUTCOME_WORDS
from fabro.workflow.condition import OUTCOME_KEYS, All, AnyOf, Clause, Condition, Not, Operator, Part

MAX_STEPS = 50_000
"""Sets that need more steps (assignments times clauses) count as not exhaustive."""

_ANYTHING_ELSE = None
_EQUALITIES = frozenset({Operator.EQUAL, Operator.UNEQUAL})
_Question: TypeAlias = tuple[str, Operator, str]
_Answer: TypeAlias = str | bool | None


def are_exhaustive(conditions: Iterable[Condition]) -> bool:
    """Whether at least one of the conditions holds whatever the values are, as far as that can be proven."""
    roots = [condition.root for condition in conditions]
    clauses = [clause for root in roots for clause in Condition("", root).clauses]
    domains = _domains(clauses)
    steps = len(clauses)
    for domain in domains.values():
        steps *= len(domain)
        if steps > MAX_STEPS:
            return False
    assignments = itertools.product(*domains.values())
    return bool(roots) and all(
        any(_holds(root, dict(zip(domains, answers, strict=True))) for root in roots) for answers in assignments
    )


def _question(clause: Clause) -> _Question:
    """What a clause asks; clauses with the same question share one answer."""
    if clause.operator in _EQUALITIES:
        return ("outcome" if clause.key in OUTCOME_KEYS else clause.key, Operator.EQUAL, "")
    return (clause.key, clause.operator, clause.value)


def _domains(clauses: Sequence[Clause]) -> Mapping[_Question, Sequence[_Answer]]:
    """The possible answers to each question."""
    domains: dict[_Question, list[_Answer]] = {}
    for clause in clauses:
        question = _question(clause)
        if clause.operator not in _EQUALITIES:
            domains[question] = [True, False]
        elif clause.key in OUTCOME_KEYS:
            domains[question] = list(OUTCOME_WORDS)
        elif clause.value not in domains.setdefault(question, [_ANYTHING_ELSE]):
            domains[question].append(clause.value)
    return domains


def _holds(part: Part, answers: Mapping[_Question, _Answer]) -> bool:
    match part:
        case Clause(operator=Operator.EQUAL, value=value):
            return answers[_question(part)] == value
        case Clause(operator=Operator.UNEQUAL, value=value):
            return answers[_question(part)] != value
        case Clause():
            return answers[_question(part)] is True
        case Not(part=inner):
            return not _holds(inner, answers)
        case All(parts=parts):
            return all(_holds(inner, answers) for inner in parts)
        case AnyOf(parts=parts):
            return any(_holds(inner, answers) for inner in parts)
