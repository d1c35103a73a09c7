"""Which server is meant."""

from pathlib import Path

import pytest

from fabro.client.target import UNIX_URL, ServerTarget, choose_target
from fabro.config.paths import find_paths
from fabro.errors import InvalidInput

HOME = {"HOME": "/home/ada"}


def test_without_a_word_it_is_the_local_server() -> None:
    target = choose_target(None, None, HOME)
    assert target == ServerTarget(url=UNIX_URL, socket=Path("/home/ada/.fabro/fabro.sock"), local=find_paths(HOME))
    assert str(target) == "/home/ada/.fabro/fabro.sock"


def test_a_storage_folder_means_its_own_local_server() -> None:
    environment = {**HOME, "FABRO_SERVER": "http://elsewhere.test"}
    target = choose_target(None, "/data/fabro", environment)
    assert (target.socket, target.local) == (
        Path("/data/fabro/fabro.sock"),
        find_paths(environment, storage_dir="/data/fabro"),
    )


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("http://127.0.0.1:8765", "http://127.0.0.1:8765"),
        (" https://fabro.example.test/base/ ", "https://fabro.example.test/base"),
        ("http://[::1]:8765/", "http://[::1]:8765"),
    ],
)
def test_a_url(server: str, url: str) -> None:
    assert choose_target(server, None, {}) == ServerTarget(url=url)
    assert choose_target(None, None, {"FABRO_SERVER": server}) == ServerTarget(url=url)


def test_a_socket() -> None:
    assert choose_target("/run/fabro.sock", None, {}) == ServerTarget(url=UNIX_URL, socket=Path("/run/fabro.sock"))


def test_the_option_wins_over_the_environment() -> None:
    assert choose_target("http://a.test", None, {"FABRO_SERVER": "/b"}).url == "http://a.test"


@pytest.mark.parametrize(
    "server",
    [
        *("localhost:8765", "relative/path", "ftp://x.test", "http://", "http://x.test?a=1", "http://x.test#a"),
        *("http://me:secret@x.test", "http://x.test:port", "~/.fabro/fabro.sock"),
    ],
)
def test_what_is_no_server(server: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        choose_target(server, None, HOME)
    assert (caught.value.code, caught.value.hint is not None) == ("server_invalid", True)


def test_two_servers_at_once_are_refused() -> None:
    with pytest.raises(InvalidInput):
        choose_target("http://a.test", "/data", HOME)


def test_an_empty_variable_says_nothing() -> None:
    assert choose_target(None, None, {**HOME, "FABRO_SERVER": ""}).local is not None
