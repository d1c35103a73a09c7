"""Whether a server answers, without starting one. Above: version, doctor. Below: the client."""

from fabro.cli.options import Settings
from fabro.cli.session import requests
from fabro.client.local_server import health
from fabro.client.shapes import Health
from fabro.client.target import choose_target

ANSWER_SECONDS = 3.0


async def server_health(settings: Settings) -> Health | None:
    """What the server that the settings choose says of itself; None when this machine's own does not run.

    Raises:
        FabroError: it is named and can't be reached, does not answer, or is another program.
    """
    target = choose_target(settings.server, settings.storage_dir, settings.environment)
    if target.local is not None:
        return await health(target.local)
    async with requests(settings) as http:
        return (await http.ask("GET", "/health", seconds=ANSWER_SECONDS, revive=False)).read(Health)
