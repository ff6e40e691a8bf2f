"""Answers that say what was done, as HTTP has them."""

from pydantic import BaseModel


class ForgottenAnswer(BaseModel):
    """Nothing is known of the user any more."""

    user: str
    forgotten: bool


class StockedAnswer(BaseModel):
    """Ids that were added or changed."""

    items: list[str]


class RetiredAnswer(BaseModel):
    """The item will not be recommended any more."""

    id: str
    retired: bool


class ImportedAnswer(BaseModel):
    """How many users, and how many items and priors, are as the import has them."""

    imported: int
    items: int
