"""Questions and answers. Above: the app. Below: operations. Source: reference/server.md §1.3 (human loop)."""

from http import HTTPStatus

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from fabro.client.shapes import QuestionList
from fabro.ids import RunId
from fabro.server.api.body import json_answer, read_body
from fabro.server.api.intents import ANSWER, answer_of
from fabro.server.backend import operations_of
from fabro.server.openapi import answers, takes

router = APIRouter(prefix="/runs/{run_id}/questions", tags=["questions"])


@router.get("", name="list_questions", responses=answers(QuestionList, HTTPStatus.OK, 404))
async def list_questions(request: Request, run_id: str) -> Response:
    """A run's open questions."""
    return json_answer(QuestionList(data=await operations_of(request).questions.list(RunId(run_id))))


@router.post(
    "/{question_id:path}/answer",
    name="answer_question",
    status_code=204,
    responses=answers(None, HTTPStatus.NO_CONTENT, 400, 404, 409, 413, 415, 422),
    openapi_extra=takes("AnyAnswerBody"),
)
async def answer(request: Request, run_id: str, question_id: str) -> Response:
    """Answer an open question; of two answers one wins."""
    body = await read_body(request, ANSWER, code="answer_invalid")
    questions = operations_of(request).questions
    await questions.answer(RunId(run_id), question_id, answer_of(body), actor=body.actor)
    return Response(status_code=HTTPStatus.NO_CONTENT)
