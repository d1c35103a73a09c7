"""What is wrong with arguments, in words for the one who sent them. Above: arguments. Below: pydantic."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

MOST_ERRORS = 5
LONGEST_VALUE = 60
_WANTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """One sentence for each of the first five errors."""
    found = error.errors(include_url=False)
    said = [_sentence(one, model) for one in found[:MOST_ERRORS]]
    left = len(found) - len(said)
    return "; ".join(said) + (f"; and {left} more" if left else "")


def path_text(path: Sequence[int | str]) -> str:
    """A place in JSON as people write it, `runs[0].args.inputs`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def shown(value: object) -> str:
    """A value with its kind, cut to a few words."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
    match value:
        case str():
            return f"the string {text}"
        case bool():
            return text
        case int() | float():
            return f"the number {text}"
        case list():
            return f"the list {text}"
        case dict():
            return f"the object {text}"
        case _:
            return text


def _sentence(error: ErrorDetails, model: type[BaseModel]) -> str:
    place = f"`{path_text(error['loc'])}`" if error["loc"] else "the whole"
    limits = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return f"{place} is missing{_description(error['loc'], model)}"
        case "extra_forbidden":
            return f"there is no field {place}{_suggestion(error['loc'], model)}"
        case "too_short" | "too_long":
            bound = (
                f"at least {limits['min_length']}" if "min_length" in limits else f"at most {limits['max_length']}"
            )
            return f"{place} has {limits['actual_length']} items; wanted {bound}"
        case "greater_than_equal" | "less_than_equal":
            bound = f"at least {limits['ge']}" if "ge" in limits else f"at most {limits['le']}"
            return f"{place} is {error['input']}; wanted {bound}"
        case "literal_error":
            wanted = f"one of {limits['expected']}"
        case kind:
            wanted = _WANTED.get(kind, error["msg"])
    return f"{place} is {shown(error['input'])}; wanted {wanted}"


def _description(path: Sequence[int | str], model: type[BaseModel]) -> str:
    owner = _model_at(path, model)
    field = owner.model_fields.get(str(path[-1])) if owner else None
    first = (field.description or "").split(". ")[0].rstrip(".") if field else ""
    return f" ({first})" if first else ""


def _suggestion(path: Sequence[int | str], model: type[BaseModel]) -> str:
    """The name that was probably meant, else all names."""
    owner = _model_at(path, model)
    if owner is None:
        return ""
    name, before = str(path[-1]), path_text(path[:-1])
    misnamed = cast("Mapping[str, str]", getattr(owner, "misnamed", {}))
    close = difflib.get_close_matches(name, owner.model_fields, n=1)
    meant = misnamed.get(name) or (close[0] if close else None)
    if meant is None:
        return f"; the fields are {', '.join(owner.model_fields)}"
    return f"; use `{before}.{meant}`" if before else f"; use `{meant}`"


def _model_at(path: Sequence[int | str], model: type[BaseModel]) -> type[BaseModel] | None:
    """The model that holds the field at the end of `path`."""
    owner: type[BaseModel] | None = model
    for part in path[:-1]:
        if isinstance(part, str) and owner is not None:
            field = owner.model_fields.get(part)
            owner = _model_in(field.annotation) if field else None
    return owner


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model that a field's type speaks of, as in `list[Item] | None`."""
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
