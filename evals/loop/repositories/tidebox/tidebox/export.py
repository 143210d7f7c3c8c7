"""What leaves the house."""
import json


def to_text(summaries):
    """A table for people."""
    lines = []
    for s in summaries:
        if s.low is None:
            lines.append(f"{s.station} {s.day} (no readings)")
        else:
            lines.append(f"{s.station} {s.day} {s.low:7.2f} {s.high:7.2f} {s.mean:7.2f}")
    return "\n".join(lines)


def index(summaries):
    """JSON list of the days we have, per station."""
    days = {}
    for s in summaries:
        if s.low is not None:
            days.setdefault(s.station, []).append(s.day.isoformat())
    return json.dumps(days, sort_keys=True)
