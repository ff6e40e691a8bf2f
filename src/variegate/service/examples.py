"""Examples of requests and responses in the OpenAPI schema."""

import json
from importlib.resources import files
from typing import Any, Final

_JSON: Final = "application/json"
#: By the name of a path parameter
_IDS: Final = {"user": "ana", "item": "tt0078748", "policy": "lmdp"}


def add_examples(schema: dict[str, Any]) -> None:
    """Add to each route of an OpenAPI schema ids, a request and a response in JSON.

    They are from a service with the bundled films, rounded, and with two entries of each list.
    """
    text = (files("variegate.service") / "examples.json").read_text(encoding="utf-8")
    for route, example in json.loads(text).items():
        method, path = route.split(" ")
        operation = schema["paths"].get(path, {}).get(method.lower())
        if operation is None:  # a service may leave routes out
            continue
        for parameter in operation.get("parameters", ()):
            if parameter["name"] in _IDS:
                parameter["example"] = _IDS[parameter["name"]]
        if "request" in example:
            operation["requestBody"]["content"][_JSON]["example"] = example["request"]
        for status, response in operation["responses"].items():
            if status.startswith("2") and "response" in example:
                response["content"][_JSON]["example"] = example["response"]
