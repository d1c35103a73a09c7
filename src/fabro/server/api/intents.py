"""The bodies of run requests. Above: the run routers. Below: calls. Source: reference/mcp-server.md §3."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from fabro.calls import RunIntent, Until
from fabro.run.question import Answer, MultiSelected, No, Selected, Text, Yes
from fabro.run.spec import RunArgs
from fabro.run.target import FolderTarget, NoTarget, Target
from fabro.server.api.body import Body

MOST_AWAITED = 100
LONGEST_WAIT_SECONDS = 600


class NoTargetBody(Body):
    """An empty workspace."""

    kind: Literal["none"]


class FolderTargetBody(Body):
    """A folder of the server's machine."""

    kind: Literal["folder"]
    path: str


class ArgsBody(Body):
    """Overrides of one run; what is left out or null is not said."""

    inputs: dict[str, str | bool | int | float] = Field(default={}, description="Values for the workflow's inputs.")
    labels: dict[str, str] = {}
    model: str | None = None
    provider: str | None = None
    dry_run: bool | None = None
    auto_approve: bool | None = None
    preserve_sandbox: bool | None = None

    def args(self) -> RunArgs:
        """The arguments that operations take."""
        return RunArgs(
            inputs=self.inputs,
            labels=self.labels,
            model=self.model,
            provider=self.provider,
            dry_run=self.dry_run,
            auto_approve=self.auto_approve,
            preserve_sandbox=self.preserve_sandbox,
        )


class RunIntentBody(Body):
    """A run to create."""

    workflow_version_id: str = Field(description="64 hexadecimal digits, as registering the version gave them.")
    target: Annotated[NoTargetBody | FolderTargetBody, Field(discriminator="kind")]
    args: ArgsBody
    environment_id: str | None = None
    parent_id: str | None = None
    title: str | None = Field(default=None, description="One line of 1 to 100 characters.")
    goal: str | None = Field(default=None, description="Literal text in place of the workflow's own goal.")

    def intent(self) -> RunIntent:
        """The intent that operations take."""
        return RunIntent(
            workflow_version_id=self.workflow_version_id,
            target=_target(self.target),
            args=self.args.args(),
            environment_id=self.environment_id,
            parent_id=self.parent_id,
            title=self.title,
            goal=self.goal,
        )


class WaitBody(Body):
    """Which runs to wait for, and how long."""

    run_ids: list[str] = Field(min_length=1, max_length=MOST_AWAITED)
    until: Until = Field(default="terminal", description="`terminal`: the end; `blocked`: the end or a question.")
    timeout_seconds: float = Field(ge=0, le=LONGEST_WAIT_SECONDS, strict=False)


class AnswerBody(Body):
    """What every answer may say beside itself."""

    actor: str | None = Field(default=None, description="Who answers, for the run's log.")


class YesBody(AnswerBody):
    """Yes."""

    kind: Literal["yes"]


class NoBody(AnswerBody):
    """No."""

    kind: Literal["no"]


class SelectedBody(AnswerBody):
    """One option."""

    kind: Literal["selected"]
    option_key: str


class MultiSelectedBody(AnswerBody):
    """Several options; none is allowed too."""

    kind: Literal["multi_selected"]
    option_keys: list[str]


class TextBody(AnswerBody):
    """Free words, or an option's key or label."""

    kind: Literal["text"]
    text: str


AnyAnswerBody = YesBody | NoBody | SelectedBody | MultiSelectedBody | TextBody
RUN_INTENT = TypeAdapter(RunIntentBody)
WAIT = TypeAdapter(WaitBody)
ANSWER: TypeAdapter[AnyAnswerBody] = TypeAdapter(Annotated[AnyAnswerBody, Field(discriminator="kind")])


def answer_of(body: AnyAnswerBody) -> Answer:
    """The answer that operations take."""
    match body:
        case YesBody():
            return Yes()
        case NoBody():
            return No()
        case SelectedBody():
            return Selected(option_key=body.option_key)
        case MultiSelectedBody():
            return MultiSelected(option_keys=tuple(body.option_keys))
        case TextBody():
            return Text(text=body.text)


def _target(body: NoTargetBody | FolderTargetBody) -> Target:
    return FolderTarget(path=body.path) if isinstance(body, FolderTargetBody) else NoTarget()
