"""What can go wrong, said so that a person knows what to change.

Every error carries what happened and, where there is one, the advice. No message ever contains a true coordinate.
"""

from __future__ import annotations


class SfumatoError(Exception):
    """Base of every error raised on purpose: ``what`` happened and ``advice`` on what to change."""

    def __init__(self, what: str, advice: str = "") -> None:
        self.what = what
        self.advice = advice
        super().__init__(f"{what} {advice}".strip())


class InputError(SfumatoError, ValueError):
    """The input cannot be used: a bad file, a value out of range, things that do not fit together."""


class NotCertified(SfumatoError, ArithmeticError):
    """A guarantee could not be established, so nothing is released."""


class NotConverged(SfumatoError, RuntimeError):
    """A solver stopped before reaching the accuracy it was asked for."""


class VerificationFailed(SfumatoError, ValueError):
    """A certificate, a release or a signature disagrees with what was recomputed."""


class OtherVersion(VerificationFailed):
    """Another version worded the certificate, whose sentences this one cannot recompute; it need not be changed."""


class BudgetExceeded(SfumatoError, PermissionError):
    """A release or report would pass the cap of its ledger."""


class MissingExtra(SfumatoError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"This needs the package '{package}', which is not installed.",
            f"Install it with: pip install 'sfumato[{extra}]'.",
        )
