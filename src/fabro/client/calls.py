"""Implements `fabro.calls.Calls` over HTTP. Above: connect. Below: the calls of each kind."""

from dataclasses import dataclass
from urllib.parse import quote

from fabro.client.events import HttpEvents
from fabro.client.http import Http
from fabro.client.runs import HttpQuestions, HttpRuns
from fabro.client.shapes import StoredVersion, VersionCreated
from fabro.clock import Clock
from fabro.ids import VersionId
from fabro.workflow.version import Version


class HttpVersions:
    """Implements `fabro.calls.VersionCalls` over HTTP."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def create(self, version: Version) -> VersionId:
        """Store a version; equal contents give the same id."""
        answer = await self._http.ask("POST", "/workflow-versions", content=version.canonical_bytes)
        return answer.read(VersionCreated).workflow_version_id

    async def get(self, version_id: str) -> Version:
        """A stored version."""
        answer = await self._http.ask("GET", f"/workflow-versions/{quote(version_id, safe='')}")
        stored = answer.read(StoredVersion)
        return Version(
            entrypoint=stored.entrypoint,
            files=stored.files,
            workflow_dependencies=stored.workflow_dependencies,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpCalls:
    """Implements `fabro.calls.Calls` over HTTP."""

    versions: HttpVersions
    runs: HttpRuns
    questions: HttpQuestions
    events: HttpEvents


def calls_over(http: Http, clock: Clock) -> HttpCalls:
    """All calls over one connection pool."""
    return HttpCalls(
        versions=HttpVersions(http),
        runs=HttpRuns(http, clock),
        questions=HttpQuestions(http),
        events=HttpEvents(http, clock),
    )
