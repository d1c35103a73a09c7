"""Listeners: where they may be, who may reach them, and what becomes of what was there before."""

import errno
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabro.config.paths import fallback_folder
from fabro.errors import Conflict, InvalidInput, StorageError
from fabro.server.listen import Address, parse_address, tcp_listener, unix_listener, url_of

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield Path(made) / "inner"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", Address(host="127.0.0.1", port=80)),
        (" localhost:0 ", Address(host="127.0.0.1", port=0)),
        ("127.9.9.9:65535", Address(host="127.9.9.9", port=65535)),
        ("[::1]:8765", Address(host="::1", port=8765)),
    ],
)
def test_loopback_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text", ["", "8765", ":8765", "localhost", "localhost:", "localhost:x", "localhost:65536", "a:²"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_address(text)
    assert caught.value.code == "listen_invalid"


@pytest.mark.parametrize(
    "text", ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "example.test:80", "localhost.evil.test:1"]
)
def test_addresses_that_others_can_reach_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_address(text)
    assert caught.value.code == "listen_not_loopback"
    assert caught.value.hint is not None


def test_a_unix_socket_is_private_and_goes_with_its_listener(folder: Path) -> None:
    path = folder / "fabro.sock"
    with unix_listener(path) as listener:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert url_of(listener) == str(path)
        with socket.socket(socket.AF_UNIX) as visitor:
            assert visitor.connect_ex(str(path)) == 0
    assert not path.exists()


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_socket_goes_when_its_block_fails(folder: Path, failure: type[BaseException]) -> None:
    path = folder / "s"
    with pytest.raises(failure), unix_listener(path):
        raise failure
    assert not path.exists()


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o700])
def test_a_folder_that_was_there_keeps_its_mode(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with unix_listener(folder / "s") as listener:
        assert stat.S_IMODE(folder.stat().st_mode) == mode
        assert stat.S_IMODE(Path(listener.getsockname()).stat().st_mode) == 0o600


def test_a_folder_behind_a_link_is_one(folder: Path) -> None:
    real = folder.parent / "real"
    real.mkdir()
    folder.symlink_to(real)
    with unix_listener(folder / "s"):
        assert (real / "s").is_socket()
    assert not (real / "s").exists()


def test_a_file_in_the_place_of_the_folder(folder: Path) -> None:
    folder.write_text("")
    with pytest.raises(StorageError, match="is no folder"), unix_listener(folder / "s"):
        pass


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(Conflict, match=f"another user .number {NOBODY}") as caught, unix_listener(folder / "s"):
        pass
    assert caught.value.code == "socket_folder_not_yours"


def test_the_folder_in_the_temporary_folder_may_be_no_link(folder: Path) -> None:
    path = folder.parent / fallback_folder().name / "s"
    with unix_listener(path):
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.parent.rename(folder)
    path.parent.symlink_to(folder)
    with pytest.raises(InvalidInput, match="symbolic link"), unix_listener(path):
        pass
    assert list(folder.iterdir()) == []


def test_a_socket_that_a_killed_server_left_is_replaced(folder: Path) -> None:
    folder.mkdir()
    path = folder / "s"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    assert path.is_socket()
    with unix_listener(path), socket.socket(socket.AF_UNIX) as visitor:
        assert visitor.connect_ex(str(path)) == 0


def test_a_socket_on_which_somebody_answers_is_left_alone(folder: Path) -> None:
    path = folder / "s"
    with unix_listener(path), socket.socket(socket.AF_UNIX) as visitor:
        with pytest.raises(Conflict) as caught, unix_listener(path):
            pass
        assert caught.value.code == "socket_in_use"
        assert visitor.connect_ex(str(path)) == 0


def test_something_else_in_the_place_of_the_socket_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    path = folder / "s"
    path.write_text("precious")
    with pytest.raises(Conflict) as caught, unix_listener(path):
        pass
    assert (caught.value.code, path.read_text()) == ("socket_in_use", "precious")


def test_a_socket_that_replaced_ours_is_left_alone(folder: Path) -> None:
    path = folder / "s"
    with unix_listener(path), socket.socket(socket.AF_UNIX) as other:
        path.unlink()
        Path(folder / "filler").touch()
        other.bind(str(path))
    assert path.is_socket()


def test_a_folder_that_can_not_be_made(folder: Path) -> None:
    with pytest.raises(StorageError) as caught, unix_listener(folder / "missing" / "s"):
        pass
    assert os.strerror(errno.ENOENT) in caught.value.message


def test_a_port_is_listened_on_once() -> None:
    with tcp_listener(Address(host="127.0.0.1", port=0)) as listener:
        port = int(listener.getsockname()[1])
        assert url_of(listener) == f"http://127.0.0.1:{port}"
        with pytest.raises(Conflict) as caught, tcp_listener(Address(host="127.0.0.1", port=port)):
            pass
        assert caught.value.code == "port_in_use"
        assert str(port) in caught.value.message
