"""From what is stored to what is shown. Above: runs, questions, events. Below: projections."""

from contextlib import aclosing

from fabro.calls import QuestionView, RunStateView
from fabro.ids import RunId
from fabro.projections.detail import InterviewView, RunDetail
from fabro.projections.run_view import RunView, view
from fabro.run.events import RunCreated
from fabro.run.spec import RunArgs
from fabro.store.feed import read_all
from fabro.store.port import EventStore, RunRecord


def run_view(record: RunRecord) -> RunView:
    """A record as the doors show it."""
    return view(record.summary, last_seq=record.last_seq, last_event_at=record.last_event_at)


def question_view(run_id: RunId, interview: InterviewView) -> QuestionView:
    """An open question as the doors show it."""
    question = interview.question
    return QuestionView(
        id=question.id,
        run_id=run_id,
        stage=question.stage,
        text=question.text,
        question_type=question.kind,
        options=question.options,
        allow_freeform=question.allow_freeform,
        timeout_seconds=question.timeout_seconds,
        context_display=question.context_display,
        asked_at=interview.asked_at,
    )


async def state_view(store: EventStore, run_id: RunId) -> RunStateView:
    """A run in full, folded from its whole log.

    Raises:
        NotFound: `run_not_found`.
    """
    record = await store.get(run_id)
    detail, args = RunDetail(), RunArgs()
    async with aclosing(read_all(store, run_id)) as log:
        async for stored in log:
            if stored.seq > record.last_seq:
                break
            detail.apply(stored)
            if isinstance(stored.event, RunCreated):
                args = stored.event.spec.args
    return RunStateView(
        run=run_view(record),
        inputs=dict(args.inputs),
        stages=tuple(detail.stages.values()),
        checkpoints=tuple(detail.checkpoints),
        questions=tuple(question_view(run_id, one) for one in detail.open_questions),
        notices=tuple(detail.notices),
    )
