"""Reading a tool's arguments: forgiving about form, strict about names. Above: the tools. Below: explanations.

Language models send null for "not said" and JSON as text where a list or an object is wanted; both are taken.
A field that does not exist is refused, with the name that was probably meant.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import from_json

from fabro.errors import InvalidInput
from fabro.json_value import JsonObject
from fabro.mcp_server.tools.explain import explain

ItemT = TypeVar("ItemT")


def from_json_text(value: object) -> object:
    """The list or object that a text holds as JSON; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return from_json(value, allow_inf_nan=False)
    except ValueError:
        return value


JsonList = Annotated[list[ItemT], BeforeValidator(from_json_text)]
"""A list, or text that holds one as JSON."""
JsonMap = Annotated[dict[str, ItemT], BeforeValidator(from_json_text)]
"""An object with free keys, or text that holds one as JSON."""


class Arguments(BaseModel):
    """An object among a tool's arguments. `misnamed` maps names that callers try to those that they mean."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    misnamed: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _accept(cls, data: object) -> object:
        """Take JSON as text, and null as left out."""
        given = from_json_text(data)
        if not isinstance(given, Mapping):
            return given
        fields = cast("Mapping[object, object]", given)
        return {name: value for name, value in fields.items() if value is not None or name not in cls.model_fields}


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def decode(model: type[ArgumentsT], arguments: JsonObject) -> ArgumentsT:
    """The arguments as the tool wants them.

    Raises:
        InvalidInput: `invalid_arguments`; the message names each field, what came and what was wanted.
    """
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        raise InvalidInput(explain(error, model), code="invalid_arguments") from error
