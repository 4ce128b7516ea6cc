"""PURE. What runs of agents use, in whole units, so that the order in which it is added up changes nothing."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.errors import Refusal
from interlock.work.settings.values import Settings

__all__ = ["NOTHING", "Amount", "DayUsage", "has_room", "likely", "limits_of", "refusal"]

_MINUTE: Final = 60_000
_DOLLAR: Final = 1_000_000


class Amount(msgspec.Struct, frozen=True):
    """Time, tokens and money; as a limit, 0 is none."""

    milliseconds: int = 0
    tokens: int = 0
    microdollars: int = 0

    @classmethod
    def of(cls, seconds: float, tokens: int, usd: float | None) -> Amount:
        """What an agent's run tells of itself; what it does not tell counts as nothing, and nothing counts as less."""
        return cls(max(0, round(seconds * 1000)), max(0, tokens), max(0, round((usd or 0.0) * _DOLLAR)))

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.milliseconds + other.milliseconds,
            self.tokens + other.tokens,
            self.microdollars + other.microdollars,
        )

    @property
    def seconds(self) -> float:
        return self.milliseconds / 1000

    @property
    def usd(self) -> float:
        return self.microdollars / _DOLLAR

    @property
    def data(self) -> dict[str, float]:
        """It as the entries of loops and runs keep it; `of` takes it back."""
        return {"seconds": self.seconds, "tokens": self.tokens, "usd": self.usd}


NOTHING: Final = Amount()
"""As a limit, none."""


class DayUsage(msgspec.Struct, frozen=True):
    """A day's books: what was used, and what one more run is likely to use."""

    used: Amount = NOTHING
    """Of a run that is under way, or whose driver died with it, what was reserved for it."""
    runs: int = 0
    likely: Amount = NOTHING


def likely(total: Amount, runs: int) -> Amount:
    """What the next run may use: what others did on the average, rounded up; nothing where there were none."""
    if not runs:
        return NOTHING
    return Amount(*(-(-part // runs) for part in msgspec.structs.astuple(total)))


def has_room(used: float, next_: float, limit: float) -> bool:
    """Whether one more run may begin, by what it may use; without a limit it may."""
    return not limit or (used < limit and used + next_ <= limit)


def limits_of(settings: Settings) -> Amount:
    """What a day's work may use."""
    minutes, dollars = settings.number("budget.day_minutes"), settings.number("budget.day_usd")
    return Amount(minutes * _MINUTE, settings.number("budget.day_tokens"), dollars * _DOLLAR)


def refusal(limits: Amount, day: DayUsage) -> Refusal | None:
    """Why no run may begin; None while there is room for one more like the others."""
    for setting, kind, unit, said in _KINDS:
        limit, used, next_ = (getattr(one, kind) for one in (limits, day.used, day.likely))
        if not has_room(used, next_, limit):
            most, has, wants = (said.format(one / unit) for one in (limit, used, next_))
            message = f"The budget of the day is used up: {has} of {most} are used or reserved, one run takes {wants}."
            hint = f"budget.{setting} in ralph.toml sets it; it begins anew at midnight (UTC). No agent was started."
            return Refusal("budget_exhausted", message, hint)
    return None


_KINDS: Final = (
    ("day_usd", "microdollars", _DOLLAR, "${:,.2f}"),
    ("day_tokens", "tokens", 1, "{:,.0f} tokens"),
    ("day_minutes", "milliseconds", _MINUTE, "{:,.1f} minutes"),
)
"""Each setting, what it limits, its unit, and how that is said."""
