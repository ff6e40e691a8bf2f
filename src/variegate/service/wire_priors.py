"""What policies begin with, as HTTP has it."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, Field

PolicyName = Annotated[str, Path(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class PriorWeight(BaseModel):
    """How a weight is spread over users."""

    name: str
    mean: float
    deviation: float


class PriorAnswer(BaseModel):
    """What users of a policy begin with: numbers of all users together, of none alone."""

    policy: str
    version: int = Field(description="Grows with every change; 0 while there was none.")
    fitted: float | None = Field(
        description="When it was fitted to the service's own users, in seconds since 1970; null "
        "where it is the one of the policy's line."
    )
    users: int = Field(description="How many users it was fitted to; 0 for a guess.")
    words: list[str]
    relevance: list[PriorWeight]
    diversity: list[PriorWeight]
    noise: float = Field(description="The variance of a reward around what the model says.")
