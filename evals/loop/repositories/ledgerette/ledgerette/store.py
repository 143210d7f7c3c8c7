"""invoices.jsonl: one invoice a line."""
import json
from dataclasses import asdict
from datetime import date

from .model import Customer, Invoice, Line


def dump(invoices, f):
    for i in invoices:
        row = asdict(i)
        row["sent"] = i.sent.isoformat()
        row["paid"] = i.paid.isoformat() if i.paid else None
        f.write(json.dumps(row) + "\n")


def load(f):
    out = []
    for n, text in enumerate(f, 1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except ValueError as e:
            raise ValueError(f"line {n}: {e}") from None
        row["customer"] = Customer(**row["customer"])
        row["lines"] = [Line(**l) for l in row["lines"]]
        row["sent"] = date.fromisoformat(row["sent"])
        row["paid"] = date.fromisoformat(row["paid"]) if row["paid"] else None
        out.append(Invoice(**row))
    return out
