import pytest

from fabro.workflow.accelerator import accelerator


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("[Y] Yes", "Y"),
        ("[Ship it]", "Ship it"),
        ("Y) Yes", "Y"),
        ("12) Yes", "12"),
        ("N - No", "N"),
        ("Approve", "A"),
        (" fix", "f"),
        ("", ""),
        ("[] x", "["),
        ("Long) x", "L"),
    ],
)
def test_keys(label: str, key: str) -> None:
    assert accelerator(label) == key
