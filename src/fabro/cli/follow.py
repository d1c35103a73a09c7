"""Following a run to its end, asking on the way what it asks. Above: run, attach. Below: views, ask, calls."""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from fabro.calls import Calls
from fabro.cli.ask import Terminal, ask
from fabro.cli.output import Output
from fabro.cli.progress import Progress, text_of
from fabro.cli.view import JsonView, PlainView, View
from fabro.ids import RunId
from fabro.projections.envelope import EventEnvelope
from fabro.projections.run_view import RunView

_ANSWERED = frozenset({"interview.completed", "interview.timeout", "interview.interrupted"})


@dataclass(slots=True)
class Asking:
    """The question that is being asked. `is_sending` says that an answer is on its way."""

    question_id: str
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_sending: bool = False


class Follower:
    """Follows one run. With `terminal` it asks; without, it says how to answer, and stays if `stay` is set."""

    def __init__(
        self, calls: Calls, run: RunView, view: View, output: Output, *, terminal: Terminal | None, stay: bool
    ) -> None:
        self._calls = calls
        self._run = run
        self._view = view
        self._output = output
        self._terminal = terminal
        self._stay = stay
        self._progress = Progress()
        self._asking: Asking | None = None
        self._done: set[str] = set()
        """Questions that need no more asking here: answered, given up, or told."""

    async def follow(self) -> Progress:
        """Show everything from the run's first event; returns when it has ended, or waits and nobody stays."""
        async with anyio.create_task_group() as group, aclosing(self._calls.events.follow(self._run.id)) as events:
            await self._watch(events, group)
            group.cancel_scope.cancel()
        return self._progress

    async def _watch(self, events: AsyncGenerator[EventEnvelope], group: TaskGroup) -> None:
        progress = self._progress
        async for event in events:
            if self._terminal is None or event.event != "interview.started":
                self._view.take(event, progress)
            progress.apply(event)
            self._view.update(progress)
            if event.event in _ANSWERED:
                self._overtaken(text_of(event, "question_id"))
            if event.seq < self._run.last_seq:
                continue
            self._ask_next(group)
            if progress.is_blocked and self._terminal is None and not self._stay:
                return

    def _ask_next(self, group: TaskGroup) -> None:
        """Put the first question that nobody was asked yet; one that is answered automatically blocks nothing."""
        if not self._progress.is_blocked:
            return
        waiting = (question for question in self._progress.questions if question not in self._done)
        question = next(waiting, None)
        if question is None or self._asking is not None:
            return
        if self._terminal is None:
            self._done.add(question)
            if not self._output.as_json:
                self._output.note(how_to_answer(self._run.id, question))
            return
        self._asking = Asking(question_id=question)
        group.start_soon(self._ask, self._asking, self._terminal, group)

    async def _ask(self, asking: Asking, terminal: Terminal, group: TaskGroup) -> None:
        self._view.hold()
        answered = True
        try:
            with asking.scope:
                answered = await self._put(asking, terminal)
            if asking.scope.cancelled_caught:
                self._output.line("\nno answer is needed any more:")
            elif not answered:
                self._output.note(how_to_answer(self._run.id, asking.question_id))
        finally:
            self._view.release()
        self._done.add(asking.question_id)
        self._asking = None
        self._ask_next(group)

    async def _put(self, asking: Asking, terminal: Terminal) -> bool:
        def sending(is_sending: bool) -> None:
            asking.is_sending = is_sending

        for question in await self._calls.questions.list(self._run.id):
            if question.id == asking.question_id:
                return await ask(
                    self._calls, self._run.id, question, terminal=terminal, output=self._output, sending=sending
                )
        return True

    def _overtaken(self, question_id: str) -> None:
        asking = self._asking
        if asking is not None and asking.question_id == question_id and not asking.is_sending:
            asking.scope.cancel()


def how_to_answer(run_id: RunId, question_id: str) -> str:
    """Two lines for somebody who can't be asked here."""
    command = f"fabro answer {run_id} {question_id} ANSWER"
    return f"run {run_id} waits for an answer to question {question_id}\nanswer it with: {command}"


@contextmanager
def view_for(output: Output) -> Generator[View]:
    """The view that suits the output: JSON, moving lines on a capable terminal, else lines."""
    if output.as_json:
        yield JsonView(output)
    elif not output.moves:
        yield PlainView(output)
    else:
        from fabro.cli.live import MovingView

        with MovingView(output) as view:
            yield view
