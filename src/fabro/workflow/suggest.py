"""Did you mean? Above: rules, interpret. Below: nothing."""

import difflib
from collections.abc import Container, Iterable, Iterator

_LETTERS = "abcdefghijklmnopqrstuvwxyz_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST = 64


def closest(word: str, vocabulary: Iterable[str]) -> str | None:
    """The word of a small vocabulary that `word` was probably meant to be; None where nothing comes near."""
    found = difflib.get_close_matches(word[:_LONGEST], vocabulary, n=1, cutoff=0.7)
    return found[0] if found else None


def one_slip_away(word: str, known: Container[str]) -> str | None:
    """A known name one missing, extra, wrong or swapped letter away. The cost does not grow with `known`."""
    if len(word) > _LONGEST:
        return None
    return next((candidate for candidate in _slips(word) if candidate in known), None)


def _slips(word: str) -> Iterator[str]:
    splits = [(word[:index], word[index:]) for index in range(len(word) + 1)]
    yield from (left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1)
    yield from (left + right[1:] for left, right in splits if right)
    yield from (left + letter + right for left, right in splits for letter in _LETTERS)
    yield from (left + letter + right[1:] for left, right in splits if right for letter in _LETTERS)
