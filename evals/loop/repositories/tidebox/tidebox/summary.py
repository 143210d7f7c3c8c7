"""Daily summaries."""
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import Optional

from .readings import days_between


@dataclass(frozen=True)
class Summary:
    station: str
    day: date
    low: Optional[float]      # None: no readings on that day
    high: Optional[float]
    mean: Optional[float]


def daily(readings, fill=False):
    """Summaries per station and day; with fill=True also for days without readings."""
    boxes = defaultdict(list)
    for r in readings:
        boxes[(r.station, r.at.date())].append(r.level)
    if fill:
        for st in {s for s, _ in boxes}:
            days = [d for s, d in boxes if s == st]
            for d in days_between(min(days), max(days)):
                boxes.setdefault((st, d), [])
    out = []
    for (st, d), v in sorted(boxes.items()):
        if v:
            out.append(Summary(st, d, min(v), max(v), sum(v) / len(v)))
        else:
            out.append(Summary(st, d, None, None, None))
    return out
