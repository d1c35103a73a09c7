"""What a local command finds in its environment. Above: `local`. Below: nothing.

A command gets the base below, then what its request says, then the marker. Nothing else of the server's environment
reaches it: tokens of ours and keys of models stay with the server (reference/known-faults.md C-16).
"""

import os
import pwd
from collections.abc import Mapping

BASE_NAMES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR")
"""Variables that commands get from the server's own environment; every `LC_` variable comes with them."""
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def base_environment(server: Mapping[str, str]) -> dict[str, str]:
    """The base of every command's environment. PATH and HOME are always in it."""
    taken = {name: value for name, value in server.items() if name in BASE_NAMES or name.startswith("LC_")}
    return {"PATH": _DEFAULT_PATH, "HOME": _home(), **taken}


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container's user that no file names
        return "/"
