"""Reading and correcting series of readings."""
import csv
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .stations import STATIONS

PLAUSIBLE = 6.0          # metres either side of zero


@dataclass(frozen=True)
class Reading:
    at: datetime
    station: str
    level: float


def parse(lines):
    """Readings from CSV lines with the header ts,station,level."""
    out = []
    for row in csv.DictReader(lines):
        level = float(row["level"])
        if abs(level) > 50:
            raise ValueError(f"level {level} is no metre value ({row['station']} {row['ts']})")
        out.append(Reading(datetime.fromisoformat(row["ts"]), row["station"], level))
    return out


def apply_offset(readings):
    """Moves levels from the sensor's zero to chart datum."""
    return [replace(r, level=r.level + STATIONS[r.station].offset) for r in readings]


def despike(readings):
    """Drops readings that cannot be true."""
    return [r for r in readings if abs(r.level) <= PLAUSIBLE]


def hourly(readings):
    """One reading per station and hour: the mean of what fell into it."""
    boxes = defaultdict(list)
    for r in readings:
        boxes[(r.station, r.at.replace(minute=0, second=0, microsecond=0))].append(r.level)
    return [Reading(at, st, sum(v) / len(v)) for (st, at), v in sorted(boxes.items())]


def days_between(first, last):
    """All days from first to last, both included."""
    return [first + timedelta(days=i) for i in range((last - first).days + 1)]
