"""What operators ask and are told beside campaigns themselves: states, texts, tokens, the audit log."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from sfumato.collect.service.models.kept import Language, Record
from sfumato.collect.service.models.replies import Answer, CampaignAnswer
from sfumato.collect.service.models.requests import CampaignName, Description, EndsAt, Request, ShortText

Reason = Annotated[str, StringConstraints(max_length=500), Field(description="Why, for the audit log.")]
OperatorName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63)]


class ActRequest(Request):
    """An act that needs nothing but, if you like, its reason."""

    reason: Reason = ""


class TextsRequest(Request):
    """What is said about a campaign; a text that is left out stays."""

    title: Annotated[str | None, StringConstraints(min_length=1, max_length=200)] = None
    question: ShortText | None = None
    description: Description | None = None
    organiser: ShortText | None = None
    contact: ShortText | None = None
    language: Language | None = None
    ends_at_s: EndsAt = None


class DeleteRequest(Request):
    """To delete a campaign, write its name again."""

    confirm: CampaignName


class OperatorRequest(Request):
    """A colleague with a token of their own."""

    name: OperatorName


class EndAnswer(CampaignAnswer):
    """The campaign has ended; whether its last cycle was published, or why not."""

    published: bool
    reason: str


class DeletedAnswer(Answer):
    """Everything of that campaign is deleted."""

    deleted: str


class LeftOutAnswer(Answer):
    """The cycles that are left out now, and the cycle whose map was estimated again."""

    excluded: list[int]
    revised_cycle: int | None


class OperatorView(Record):
    """An operator's name and since when (None: from the start)."""

    name: str
    created_at_s: int | None


class OperatorsAnswer(Answer):
    """Everybody who may operate, and who asked."""

    operators: list[OperatorView]
    you: str


class TokenAnswer(Answer):
    """A token, shown once."""

    operator: str
    token: str


class AuditView(Record):
    """One line of the audit log; ``detail`` is a JSON object as text."""

    position: int
    at_s: int
    operator: str
    action: str
    campaign: str | None
    detail: str


class AuditAnswer(Answer):
    """Who did what, oldest first."""

    entries: list[AuditView]


class NoticesAnswer(Answer):
    """The ways a test notice was put on."""

    ways: list[str]
