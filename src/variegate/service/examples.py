"""Examples of requests and responses in the OpenAPI schema."""

import json
from importlib.resources import files
from typing import Any

_JSON = "application/json"


def add_examples(schema: dict[str, Any]) -> None:
    """Add to each route of an OpenAPI schema a request and a response in JSON.

    They are from a service with the bundled films, rounded, and with two entries of each list.
    """
    text = (files("variegate.service") / "examples.json").read_text(encoding="utf-8")
    for route, example in json.loads(text).items():
        method, path = route.split(" ")
        operation = schema["paths"].get(path, {}).get(method.lower())
        if operation is None:  # a service may leave routes out
            continue
        if "request" in example:
            operation["requestBody"]["content"][_JSON]["example"] = example["request"]
        for status, response in operation["responses"].items():
            if status.startswith("2") and "response" in example:
                response["content"][_JSON]["example"] = example["response"]
