"""Runs and questions over HTTP. Above: the calls. Below: requests."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from fabro.calls import QuestionView, RunIntent, RunListQuery, RunPage, RunStateView, Until, Waited
from fabro.client.http import Http
from fabro.client.paths import run_path
from fabro.client.patience import Patience
from fabro.client.shapes import QuestionList, Resolved, RunList
from fabro.clock import Clock
from fabro.errors import FabroError, InvalidInput
from fabro.ids import RunId
from fabro.projections.run_view import RunView
from fabro.run.question import Answer

POLL_SECONDS = 25.0
"""How long one request of a wait lasts, which is less than what stands between often allows."""
MARGIN_SECONDS = 30.0
"""How much longer than it asked for a wait may take to be answered."""
LONGEST_WAIT_SECONDS = 3600.0


class HttpRuns:
    """Implements `fabro.calls.RunCalls` over HTTP."""

    def __init__(self, http: Http, clock: Clock) -> None:
        self._http = http
        self._clock = clock

    async def create(self, intent: RunIntent) -> RunView:
        """Persist a submitted run."""
        _require_json_numbers(intent)
        return (await self._http.ask("POST", "/runs", body=asdict(intent))).read(RunView)

    async def start(self, run_id: RunId) -> RunView:
        """Ask for a submitted run to execute."""
        return (await self._http.ask("POST", run_path(run_id, "start"))).read(RunView)

    async def cancel(self, run_id: RunId) -> RunView:
        """Ask for a run to end."""
        return (await self._http.ask("POST", run_path(run_id, "cancel"))).read(RunView)

    async def get(self, run_id: RunId) -> RunView:
        """A run."""
        return (await self._http.ask("GET", run_path(run_id))).read(RunView)

    async def state(self, run_id: RunId) -> RunStateView:
        """A run in full."""
        return (await self._http.ask("GET", run_path(run_id, "state"))).read(RunStateView)

    async def list(self, query: RunListQuery) -> RunPage:
        """A page of runs, newest first."""
        params: dict[str, str | int | list[str]] = {"limit": query.limit, "status": sorted(query.statuses)}
        if query.parent_id is not None:
            params["parent_id"] = query.parent_id
        if query.cursor is not None:
            params["cursor"] = query.cursor
        page = (await self._http.ask("GET", "/runs", params=params)).read(RunList)
        return RunPage(data=page.data, next_cursor=page.meta.next_cursor)

    async def resolve(self, selector: str) -> RunId:
        """The run that a selector means."""
        answer = await self._http.ask("GET", "/runs/resolve", params={"selector": selector})
        return answer.read(Resolved).run_id

    async def wait(self, run_ids: Sequence[RunId], *, until: Until, timeout_seconds: float) -> Waited:
        """Wait until every run is there, or the time is up; the server may be away for a minute meanwhile."""
        patience = Patience(self._clock, self._http.revive)
        deadline = self._clock.monotonic() + min(timeout_seconds, LONGEST_WAIT_SECONDS)
        while True:
            left = max(0.0, min(POLL_SECONDS, deadline - self._clock.monotonic()))
            body = {"run_ids": list(run_ids), "until": until, "timeout_seconds": left}
            try:
                answer = await self._http.ask(
                    "POST", "/runs/wait", body=body, seconds=left + MARGIN_SECONDS, revive=False
                )
            except FabroError as error:
                await patience.endure(error)
                continue
            patience.seen()
            waited = answer.read(Waited)
            if not waited.timed_out or self._clock.monotonic() >= deadline:
                return waited


class HttpQuestions:
    """Implements `fabro.calls.QuestionCalls` over HTTP."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(self, run_id: RunId) -> tuple[QuestionView, ...]:
        """A run's open questions."""
        return (await self._http.ask("GET", run_path(run_id, "questions"))).read(QuestionList).data

    async def answer(self, run_id: RunId, question_id: str, answer: Answer, *, actor: str | None = None) -> None:
        """Answer an open question; of two answers one wins."""
        path = run_path(run_id, "questions", question_id, "answer")
        await self._http.ask("POST", path, body={**asdict(answer), "actor": actor})


def _require_json_numbers(intent: RunIntent) -> None:
    for name, value in intent.args.inputs.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(f"args.inputs.{name}: {value!r} is no number of JSON", code="run_intent_invalid")
