"""The registry of stations."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Station:
    id: str
    name: str
    offset: float        # sensor zero to chart datum, metres


STATIONS = {s.id: s for s in (
    Station("N07", "North Quay", 1.5),
    Station("N11", "Outer Mole", 0.8),
    Station("S02", "Salt Lock", -0.35),
)}


def lookup(id):
    try:
        return STATIONS[id.upper()]
    except KeyError:
        raise LookupError(f"no station {id!r}; known: {', '.join(STATIONS)}") from None
