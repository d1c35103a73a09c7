import pytest

from fabro.workflow.labels import accelerator, distinct_keys, normal_label


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


@pytest.mark.parametrize(
    ("label", "normal"),
    [
        ("[Y] Yes", "yes"),
        (" Y) Yes ", "yes"),
        ("Y - Yes", "yes"),
        ("Yes", "yes"),
        ("[OK]", ""),
        ("a - b - c", "b - c"),
    ],
)
def test_labels_are_compared_without_case_and_key(label: str, normal: str) -> None:
    assert normal_label(label) == normal


@pytest.mark.parametrize(
    ("labels", "keys"),
    [
        (["Go", "Stop"], ("G", "S")),
        (["Go on", "Go on", "Go on"], ("G", "G2", "G3")),
        (["[Y] Yes", "[y] yes"], ("Y", "y2")),
        ([], ()),
    ],
)
def test_each_label_has_a_key_of_its_own(labels: list[str], keys: tuple[str, ...]) -> None:
    assert distinct_keys(labels) == keys
