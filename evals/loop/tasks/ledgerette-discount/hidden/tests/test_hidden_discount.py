import unittest
from datetime import date
from ledgerette.model import Customer, Invoice, Line, give_discount


class Discount(unittest.TestCase):
    def check(self, cents, percent, want):
        i = Invoice("1", Customer("A"), date(2026, 1, 1), [Line("x", c) for c in cents])
        self.assertEqual(give_discount(i, percent), want)
        self.assertEqual((i.discount, i.net), (want, sum(cents) - want))

    def test_amounts(self):
        self.check([10000], 10, 1000)
        self.check([1234], 10, 124)
        self.check([1000, 201], 3, 37)
        self.check([101], 1, 2)
        self.check([700], 7, 49)
