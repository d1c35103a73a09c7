"""One shape for every error that HTTP callers see. Above: the app, the edge. Below: the errors themselves.

Source: reference/server.md §1.1. What was not meant for callers is logged with its traceback and shown as
`internal_error` with the request's id alone.
"""

from http import HTTPStatus

from fabro.client.shapes import ErrorBody, ErrorDetail
from fabro.errors import (
    Conflict,
    FabroError,
    Forbidden,
    InvalidInput,
    NotFound,
    StorageError,
    TooLarge,
    Unauthorized,
    Unavailable,
)

REQUEST_ID = "x-request-id"
UNSUPPORTED = "unsupported_media_type"
_BY_CODE = {
    "invalid_json": HTTPStatus.BAD_REQUEST,
    "invalid_query": HTTPStatus.BAD_REQUEST,
    "invalid_event_id": HTTPStatus.BAD_REQUEST,
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    UNSUPPORTED: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "disk_full": HTTPStatus.INSUFFICIENT_STORAGE,
}
_BY_CLASS = (
    (TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (Unauthorized, HTTPStatus.UNAUTHORIZED),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (StorageError, HTTPStatus.INTERNAL_SERVER_ERROR),
)


def status_of(error: FabroError) -> HTTPStatus:
    """The status that answers an error: by its code where that has one of its own, else by its class."""
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    return next((status for kind, status in _BY_CLASS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def body_of(error: FabroError, request_id: str) -> ErrorBody:
    """The body that answers an error."""
    status = status_of(error)
    told = ErrorDetail(
        status=str(status.value),
        title=status.phrase,
        detail=error.message,
        code=error.code,
        request_id=request_id,
        hint=error.hint,
        details=error.details or None,
    )
    return ErrorBody(errors=(told,), request_id=request_id)


def unexpected() -> FabroError:
    """What is shown of an error that was not meant for callers."""
    return FabroError(
        "the server failed to answer this request",
        code="internal_error",
        hint="The server's log has the details under the request id.",
    )
