"""What decay means, said as plainly as possible: every amount is looked at again, with 60 digits."""

from decimal import Decimal, localcontext

from keepscore.domain.durations import duration_ms


def worth(board, event, now):
    """What the amount of an event is worth at a moment."""
    with localcontext(prec=60):
        return event.amount * Decimal(2) ** (Decimal(event.at - now) / duration_ms(board.decay.half_life))


def naive(board, events, now):
    """What all events of one player are worth together at a moment."""
    with localcontext(prec=60):
        if board.operator == "best":
            return max(worth(board, event, now) for event in events)
        if board.operator == "sum":
            return sum(worth(board, event, now) for event in events)
        total = Decimal(0)
        for event in sorted(events, key=lambda e: (e.at, e.writer, e.n)):
            total = worth(board, event, now) + (0 if event.kind == "score" else total)
        return total


def slack(board, events):
    """The factor by which what is shown of a number of events may be off: each is a unit of a level, and what doubles lose on the way."""
    with localcontext(prec=60):
        return Decimal(2) ** (Decimal(events) * 3 / 2 / board.half_life.scale)
