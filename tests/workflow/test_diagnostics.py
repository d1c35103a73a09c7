from fabro.dot.span import Source
from fabro.workflow.diagnostics import Diagnostic, Severity, has_errors, render

SOURCE = Source("w.fabro", "digraph G {\n\ta -> reveiw\n}\n")
SPAN = SOURCE.span(18, 24)
DIAGNOSTIC = Diagnostic(
    rule="edge_target_exists",
    severity=Severity.ERROR,
    message="node `reveiw` is not declared",
    fix="did you mean `review`?",
    file="w.fabro",
    span=SPAN,
    edge="a -> reveiw",
)


def test_text_shows_place_line_caret_rule_and_fix() -> None:
    assert render(DIAGNOSTIC, SOURCE).split("\n") == [
        "error: w.fabro:2:7: [edge: a -> reveiw] node `reveiw` is not declared (edge_target_exists)",
        "    2 | \ta -> reveiw",
        "      | \t     ^^^^^^",
        "  fix: did you mean `review`?",
    ]


def test_json_holds_the_same() -> None:
    assert DIAGNOSTIC.to_json() == {
        "rule": "edge_target_exists",
        "severity": "error",
        "message": "node `reveiw` is not declared",
        "fix": "did you mean `review`?",
        "file": "w.fabro",
        "line": 2,
        "column": 7,
        "node": None,
        "edge": "a -> reveiw",
    }


def test_without_a_place() -> None:
    whole = Diagnostic(rule="r", severity=Severity.HINT, message="m", fix="f", file="w.fabro", node="n")
    assert render(whole, None) == "hint: w.fabro: [node: n] m (r)\n  fix: f"
    assert whole.to_json()["line"] is None
    assert not has_errors([whole])
    assert has_errors([whole, DIAGNOSTIC])


def test_a_long_line_is_cut_around_the_place_and_controls_are_hidden() -> None:
    source = Source("w", "a" * 5000 + "\x1b!" + "b" * 5000)
    diagnostic = Diagnostic(
        rule="r", severity=Severity.ERROR, message="m", fix="f", file="w", span=source.span(5001, 5002)
    )
    _, line, caret, _ = render(diagnostic, source).split("\n")
    assert len(line) < 200
    assert line[caret.index("^")] == "!"
    assert "\x1b" not in line
