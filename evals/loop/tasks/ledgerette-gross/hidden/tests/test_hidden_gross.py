import unittest
from datetime import date
from ledgerette.model import Customer, Invoice, Line, gross


class Gross(unittest.TestCase):
    def test_rates(self):
        i = Invoice("1", Customer("A"), date(2026, 2, 1), [Line("part", 10000), Line("labour", 20000, "reduced")])
        self.assertEqual(gross(i), 12000 + 21800)
