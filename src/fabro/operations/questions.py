"""Questions and answers. Above: doors. Below: the store, dispatch. Source: reference/mcp-server.md §6."""

from fabro.calls import QuestionView
from fabro.dispatch.port import Dispatcher
from fabro.errors import Conflict
from fabro.ids import RunId
from fabro.operations.append import TRIES, busy, fold_state
from fabro.operations.views import question_view
from fabro.projections.detail import InterviewView
from fabro.run.events import InterviewCompleted, RunUnblocked
from fabro.run.question import Answer, check_answer
from fabro.run.state import Asked, RunState
from fabro.run.status import StatusKind
from fabro.store.port import EventStore, SeqConflict


class Questions:
    """Implements `fabro.calls.QuestionCalls` in process."""

    def __init__(self, store: EventStore, dispatcher: Dispatcher) -> None:
        self._store = store
        self._dispatcher = dispatcher

    async def list(self, run_id: RunId) -> tuple[QuestionView, ...]:
        """A run's open questions."""
        record = await self._store.get(run_id)
        if not record.summary.open_questions:
            return ()
        asked = (await fold_state(self._store, run_id)).open_question
        if asked is None:
            return ()
        return (question_view(run_id, InterviewView(question=asked.question, asked_at=asked.at)),)

    async def answer(self, run_id: RunId, question_id: str, answer: Answer, *, actor: str | None = None) -> None:
        """Answer an open question; of two answers one wins (`fabro.calls.QuestionCalls.answer`)."""
        for _ in range(TRIES):
            state = await fold_state(self._store, run_id)
            asked = _open(state, question_id)
            completed = InterviewCompleted(
                stage_id=asked.question.stage,
                question_id=asked.question.id,
                answer=check_answer(asked.question, answer),
                actor=actor,
            )
            blocked = state.status.kind is StatusKind.BLOCKED
            events = (completed, RunUnblocked()) if blocked else (completed,)
            try:
                await self._store.append(run_id, events, expected_seq=state.seq)
            except SeqConflict:
                continue
            self._dispatcher.wake(run_id)
            return
        raise busy(run_id)


def _open(state: RunState, question_id: str) -> Asked:
    asked = state.open_question
    if asked is None or asked.question.id != question_id or state.cancel_requested:
        raise Conflict(
            f"question {question_id!r} of run {state.run_id} is not open: it was answered, withdrawn, or never put",
            code="question_closed",
            hint=f"`fabro inspect {state.run_id}` shows the run's open questions.",
        )
    return asked
