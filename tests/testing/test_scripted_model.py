"""The friendly name is the engine itself."""

from fabro.models import scripted
from fabro.testing.scripted_model import SCRIPT_VARIABLE, Reply, ScriptedModel


def test_the_testing_package_offers_the_shipped_model() -> None:
    assert (ScriptedModel, Reply, SCRIPT_VARIABLE) == (
        scripted.ScriptedModel,
        scripted.Reply,
        scripted.SCRIPT_VARIABLE,
    )
