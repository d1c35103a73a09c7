"""Lines to messages. Source: known faults S-13, S-14."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from fabro.mcp_server.messages import Refusal, read_message

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602


def refused(line: bytes) -> tuple[int, object, str]:
    message = read_message(line)
    assert isinstance(message, Refusal)
    return message.answer.error.code, message.answer.id, message.answer.error.message


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"not json", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"} trailing', PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}', PARSE_ERROR, None),
        (b"[" * 5000 + b"]" * 5000, PARSE_ERROR, None),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"x": "\\ud83d"}}', PARSE_ERROR, 5),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"x": NaN}}', PARSE_ERROR, 5),
        (b'{"jsonrpc": "2.0", "id": "\\ud83d", "method": "ping"}', PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID_REQUEST, None),
        (b"7", INVALID_REQUEST, None),
        (b'"text"', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 4}', INVALID_REQUEST, 4),
        (b'{"id": 4, "method": "ping"}', INVALID_REQUEST, 4),
        (b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}', INVALID_REQUEST, "a"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 2}', INVALID_REQUEST, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}', INVALID_PARAMS, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "result": 5}', INVALID_REQUEST, None),
    ],
)
def test_what_is_no_message_is_answered_with_an_id_only_of_its_own(
    line: bytes, code: int, request_id: object
) -> None:
    found_code, found_id, message = refused(line)
    assert (found_code, found_id) == (code, request_id)
    assert message


@pytest.mark.parametrize("line", [b"", b"  ", b"\t", b"\xef\xbb\xbf"])
def test_a_blank_line_is_nothing(line: bytes) -> None:
    assert read_message(line) is None


def test_messages_of_each_kind() -> None:
    asked = read_message(b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": "1", "method": "ping", "params": null}')
    assert asked == JSONRPCRequest(jsonrpc="2.0", id="1", method="ping")
    told = read_message(b'{"jsonrpc": "2.0", "method": "m", "params": {"a": 1}}')
    assert told == JSONRPCNotification(jsonrpc="2.0", method="m", params={"a": 1})
    answered = read_message(b'{"jsonrpc": "2.0", "id": 1, "result": {}}')
    assert answered == JSONRPCResponse(jsonrpc="2.0", id=1, result={})
    failed = read_message(b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}}')
    assert isinstance(failed, JSONRPCError)


@given(st.text(), st.one_of(st.integers(), st.text()))
def test_texts_and_ids_arrive_as_they_were_sent(text: str, request_id: str | int) -> None:
    sent = {"jsonrpc": "2.0", "id": request_id, "method": "m", "params": {"text": text}}
    for line in (json.dumps(sent), json.dumps(sent, ensure_ascii=False)):
        found = read_message(line.encode())
        assert isinstance(found, JSONRPCRequest)
        assert (found.id, found.params) == (request_id, {"text": text})


@given(st.binary(max_size=100))
def test_no_bytes_break_it(line: bytes) -> None:
    read_message(line)
