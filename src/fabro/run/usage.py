"""What a model call used and cost. Above: outcomes and events. Below: nothing."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens and cost of one or more model calls.

    `cost_micros` is in millionths of a US dollar; None means that the price is not known, never zero.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_micros: int | None = None

    def plus(self, other: "Usage") -> "Usage":
        """The sum; its cost is unknown as soon as one part's is."""
        known = self.cost_micros is not None and other.cost_micros is not None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_micros=(self.cost_micros or 0) + (other.cost_micros or 0) if known else None,
        )


NO_USAGE = Usage(cost_micros=0)
"""The neutral element of `plus`."""
