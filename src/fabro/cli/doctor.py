"""`fabro doctor`. Above: main. Below: checks, output."""

import typer

from fabro.cli.boundary import FAILURE
from fabro.cli.checks import check_all
from fabro.cli.options import settings
from fabro.cli.output import output_for


def doctor(ctx: typer.Context) -> None:
    """Check that everything is in place.

    Each finding has a remedy. Nothing is started or changed. The exit code is 1 when something is an error.
    """
    chosen = settings(ctx)
    output = output_for(chosen)
    checks = list(check_all(chosen))
    failed = any(check.status == "error" for check in checks)
    if output.as_json:
        output.json({"ok": not failed, "checks": checks})
    else:
        output.table(
            ("CHECK", "STATUS", "FOUND"), [(one.name, one.status, one.summary) for one in checks], elastic="FOUND"
        )
        for check in checks:
            if check.remedy:
                output.line(f"{check.name}: {check.remedy}")
    if failed:
        raise typer.Exit(FAILURE)
