"""Two ways to watch a run: as lines and as JSON; `live` has the third. Above: following. Below: lines, output."""

from typing import Protocol

from fabro.cli.lines import Line, tell
from fabro.cli.output import Output
from fabro.cli.progress import Progress
from fabro.projections.envelope import EventEnvelope, to_json_object


class View(Protocol):
    """Where events go while a run is followed."""

    def take(self, event: EventEnvelope, before: Progress) -> None:
        """Show an event; `before` has not taken it yet."""
        ...

    def update(self, progress: Progress) -> None:
        """Show what is open now."""
        ...

    def hold(self) -> None:
        """Print nothing more until `release`: somebody is typing."""
        ...

    def release(self) -> None:
        """Print what was held back, and go on."""
        ...


class JsonView:
    """Each event's envelope on a line."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def take(self, event: EventEnvelope, before: Progress) -> None:
        """Print the envelope."""
        del before
        self._output.jsonl(to_json_object(event))

    def update(self, progress: Progress) -> None:
        """Nothing: events say it all."""

    def hold(self) -> None:
        """Nothing: nobody is asked."""

    def release(self) -> None:
        """Nothing."""


class PlainView:
    """A line when a stage begins and one when it ends; with `quiet` questions and the end alone."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._held: list[Line] | None = None

    def take(self, event: EventEnvelope, before: Progress) -> None:
        """Print the event's line, if it has one that is wanted."""
        line = tell(event, before)
        if line is None or not self.wants(line):
            return
        if self._held is not None:
            self._held.append(line)
        else:
            self.show(line)

    def wants(self, line: Line) -> bool:
        """Whether the reader asked for lines like this."""
        if self.output.quiet:
            return line.mark == "question" or line.text.startswith("run ")
        return self.output.verbose or not line.is_detail

    def show(self, line: Line) -> None:
        """Print a line."""
        self.output.line(line.plain(ascii_only=self.output.ascii))

    def update(self, progress: Progress) -> None:
        """Nothing: lines stand where they are."""

    def hold(self) -> None:
        """Keep lines back."""
        self._held = []

    def release(self) -> None:
        """Print what was kept back."""
        held, self._held = self._held or [], None
        for line in held:
            self.show(line)
