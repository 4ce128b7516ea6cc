"""The outbox of traces: what has ended is sent to the collector, once, and tried again with patience.

Spans are made of the journal, after the commit, and their ids follow from it. So a collector that is away loses
nothing for a week, and a sender that died is followed by one that sends the same spans, not others.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from interlock.journal import Entry, Journal, Outbox
from interlock.work.formats.times import text_of
from interlock.work.notifying.delivery import Courier, Keep, plain_trouble
from interlock.work.settings.values import Settings
from interlock.work.telemetry.spans import Ended, may_end, spans_of, told_at
from interlock.world.notices.notice import DeliveryFailure
from interlock.world.telemetry.span import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlock.journal import Instance
    from interlock.world.telemetry.collector import SendResult

__all__ = ["WEEK", "Collecting", "Export", "export_of"]

log = logging.getLogger("interlock.telemetry")

_CHANNEL: Final = "traces"
WEEK: Final = 7 * 86_400.0
"""A span that ended longer ago is not sent: collectors take no such old ones."""
_MOST: Final = 200
"""So many spans are sent in one request."""
_FINAL: Final = frozenset({400, 413, 422})
"""The statuses with which a collector says that it will never take these spans, however often they are sent."""


class Collecting(Protocol):
    """Who takes spans."""

    def send(self, spans: Sequence[Span]) -> SendResult | DeliveryFailure: ...


def export_of(journal: Journal, settings: Settings, environment: Mapping[str, str]) -> Export | None:
    """What sends traces as the settings say; None where they are off."""
    if settings.text("telemetry.traces") != "on" or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    from interlock.world.telemetry.collector import collector_of

    collector = collector_of(settings.text("telemetry.endpoint"), environment, journal.now)
    return Export(journal, collector, content=settings.text("telemetry.content") == "on")


@dataclass(slots=True)
class Export:
    """What one process sends to the collector."""

    journal: Journal
    collector: Collecting
    content: bool = False
    grace: float = 1.0
    """Less than people have: whoever drives does not wait for a collector that is slow."""
    _courier: Courier[Span] = field(init=False)

    def __post_init__(self) -> None:
        self._courier = Courier(self.journal, _CHANNEL, self._waiting, self._tell)

    @property
    def name(self) -> str:
        return _CHANNEL

    def begin(self) -> Outbox:
        """Where the traces stand; the first begin with what happens from now on."""
        return self._courier.begin()

    def turn(self) -> int:
        """Send what is due, if no other process does; how many spans went out."""
        return self._courier.turn()

    def waiting(self) -> int:
        """How many spans wait."""
        box, count = self.begin(), 0
        while True:
            found, upto = self._waiting(box)
            count += len(found)
            if not found:
                return count
            box = Outbox(_CHANNEL, upto, upto)

    def _tell(self, keep: Keep, box: Outbox, found: list[Span], upto: int) -> int:
        """Send a batch in parts; only when all of it is settled is the place kept, for its ids stay the same."""
        oldest = (self.journal.now() - WEEK) * 1e9
        fresh = [one for one in found if one.ended >= oldest]
        sent, dropped, trouble = 0, len(found) - len(fresh), ""
        for first in range(0, len(fresh), _MOST):
            part = fresh[first : first + _MOST]
            answer = self._send(part)
            if isinstance(answer, DeliveryFailure) and answer.status not in _FINAL:
                self._courier.failed(keep, box, answer)
                return 0
            lost, why = (
                (len(part), answer.why) if isinstance(answer, DeliveryFailure) else (answer.rejected, answer.said)
            )
            sent, dropped = sent + len(part) - lost, dropped + lost
            trouble = plain_trouble(f"{lost} spans were refused: {why}") if lost else trouble
        if dropped:
            log.warning("%d spans are lost: %s", dropped, trouble or "they ended more than a week ago")
        told = {"told": text_of(self.journal.now())} if sent else {}
        counts = {"sent": box.sent + sent, "dropped": box.dropped + dropped}
        keep(box, seq=upto, upto=upto, tries=0, due=0, trouble=trouble, **told, **counts)
        return sent

    def _send(self, spans: Sequence[Span]) -> SendResult | DeliveryFailure:
        try:
            return self.collector.send(spans)
        except Exception as error:  # a fault of the way out is its own trouble: nothing else is to fail by it
            return DeliveryFailure(f"it failed with {type(error).__name__}")

    # What is to be told

    def _waiting(self, box: Outbox) -> tuple[list[Span], int]:
        """The spans that end with the entries behind an outbox, so many of them, and the last of those entries."""
        found: list[Span] = []
        after = box.seq
        while entries := self.journal.entries(after):
            for entry in entries:
                after = entry.seq
                found += self._spans(entry) if may_end(entry) else []
                if len(found) >= _MOST:
                    return found, after
        return found, after

    def _spans(self, entry: Entry) -> list[Span]:
        instance = self.journal.instance(entry.instance)
        if instance.outcome is None:
            return []
        machine, history = self.journal.machine_of(instance), self.journal.history(instance.id)
        if told_at(machine, history) != entry.seq:
            return []
        return spans_of(Ended(instance, machine, history, self._root(instance), self.content))

    def _root(self, instance: Instance) -> str:
        """The ticket that all this is for; else whatever is topmost."""
        while instance.machine != "ticket" and instance.parent is not None:
            instance = self.journal.instance(instance.parent)
        return instance.id
