"""Watching a run on a terminal: ended stages scroll by, open ones stand below with a clock. Above: following.
Below: the plain view, rich.
"""

from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from fabro.cli.lines import MARKS, Line
from fabro.cli.output import Output
from fabro.cli.progress import OpenStage, Progress
from fabro.cli.view import PlainView
from fabro.cli.visible import duration, visible, visible_line
from fabro.clock import SystemClock
from fabro.ids import StageId
from fabro.projections.envelope import EventEnvelope

MOST_OPEN_STAGES = 10
"""How many stages move below the others; of more only the number is shown."""
REFRESHES_PER_SECOND = 8
_ENDS = frozenset({"stage.completed", "stage.failed", "run.completed", "run.failed"})


class MovingView(PlainView):
    """A view that is entered and left; leaving it gives the terminal back as it was."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._clock = SystemClock()
        self._open: tuple[OpenStage, ...] = ()
        self._spinners: dict[StageId, Spinner] = {}
        self._live = Live(
            console=output.console(),
            transient=True,
            refresh_per_second=REFRESHES_PER_SECOND,
            get_renderable=self._render,
        )

    def __enter__(self) -> Self:
        """Begin to move."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop, and show the cursor again."""
        self._live.stop()

    def take(self, event: EventEnvelope, before: Progress) -> None:
        """As for lines; a stage that ends stops moving before its line is printed."""
        if event.event in _ENDS:
            self._open = tuple(stage for stage in self._open if event.stage_id not in (None, stage.stage))
            if self._live.is_started:
                self._live.refresh()
        super().take(event, before)

    def wants(self, line: Line) -> bool:
        """As for lines, but a beginning is shown by movement."""
        return line.mark != "begun" and super().wants(line)

    def show(self, line: Line) -> None:
        """Print a line above what moves."""
        sign = Text(line.sign(ascii_only=self.output.ascii), style=MARKS[line.mark][2])
        self._live.console.print(Text.assemble(sign, f" {visible(line.text)}"), soft_wrap=True)

    def update(self, progress: Progress) -> None:
        """Note what is open; the next refresh, in rich's own thread, shows it."""
        self._open = tuple(stage for stage in progress.stages.values() if not stage.is_waiting)

    def hold(self) -> None:
        """Stop moving, too."""
        super().hold()
        self._live.stop()

    def release(self) -> None:
        """Move again."""
        super().release()
        self._live.start()

    def _render(self) -> Group:
        stages = self._open
        shown = stages[:MOST_OPEN_STAGES]
        self._spinners = {stage.stage: self._spinner(stage) for stage in shown}
        more = len(stages) - len(shown)
        return Group(*self._spinners.values(), *([Text(f"  and {more} more")] if more > 0 else []))

    def _spinner(self, stage: OpenStage) -> Spinner:
        known = self._spinners.get(stage.stage)
        spinner = known or Spinner("line" if self.output.ascii else "dots", style="cyan")
        clock = duration(self._clock.now() - stage.began)
        spinner.update(text=Text(f"{visible_line(stage.stage)}  {stage.handler}  {clock}"))
        return spinner
