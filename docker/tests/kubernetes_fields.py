"""Check plain data against Kubernetes' API, as the models of its Python client describe it."""

import re
from collections.abc import Iterator
from typing import Any

import kubernetes.client
from pydantic import ValidationError


def problems(value: dict[str, Any], kind: str) -> list[str]:
    """Return what is wrong with `value` as a `kind`, such as "V1PodTemplateSpec"."""
    found = list(_unknown_fields(value, kind, kind))
    try:
        getattr(kubernetes.client, kind).model_validate(value)
    except ValidationError as error:
        found += [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    return found


def _unknown_fields(value: Any, kind: str, path: str) -> Iterator[str]:
    """Yield the fields that the API has not: the client lets them pass."""
    if listed := re.fullmatch(r"List\[(.+)\]", kind):
        for i, each in enumerate(value):
            yield from _unknown_fields(each, listed[1], f"{path}[{i}]")
    model = getattr(kubernetes.client, kind, None)
    if model is None or not isinstance(value, dict):
        return
    kinds = {there: model.openapi_types[here] for here, there in model.attribute_map.items()}
    for name, each in value.items():
        if name in kinds:
            yield from _unknown_fields(each, kinds[name], f"{path}.{name}")
        else:
            yield f"{path}: there is no field {name}"
