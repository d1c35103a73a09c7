"""The base of every command's environment."""

import os
import pwd

from fabro.sandbox.environment import base_environment


def test_only_what_is_documented_is_taken() -> None:
    server = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LC_ALL": "C",
        "TERM": "",
        "OPENAI_API_KEY": "k",
        "FABRO_OWNER": "o",
    }
    assert base_environment(server) == {"PATH": "/bin", "HOME": "/home/me", "LC_ALL": "C", "TERM": ""}


def test_path_and_home_are_there_when_the_server_has_none() -> None:
    base = base_environment({})
    assert "/usr/bin" in base["PATH"].split(os.pathsep)
    assert base["HOME"] == pwd.getpwuid(os.getuid()).pw_dir
