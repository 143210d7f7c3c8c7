"""Customers, lines and invoices. Amounts are whole cents."""
from dataclasses import dataclass, field
from datetime import date
from typing import List, Optional


@dataclass
class Customer:
    name: str
    kind: str = "private"          # "private" or "firm"


@dataclass
class Line:
    text: str
    cents: int                     # net, for the whole line
    rate: str = "standard"         # "standard" or "reduced"


@dataclass
class Invoice:
    number: str
    customer: Customer
    sent: date
    lines: List[Line] = field(default_factory=list)
    paid: Optional[date] = None
    discount: int = 0              # cents, taken off the net total

    @property
    def net(self):
        return sum(l.cents for l in self.lines) - self.discount
