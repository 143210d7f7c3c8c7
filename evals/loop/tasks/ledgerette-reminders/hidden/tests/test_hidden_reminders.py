import unittest
from datetime import date, timedelta
from ledgerette.model import Customer, Invoice, Line
from ledgerette.reports import reminders_due

TODAY = date(2026, 5, 20)


def inv(n, kind, age, paid=None):
    return Invoice(n, Customer("C" + n, kind), TODAY - timedelta(days=age), [Line("x", 100)], paid=paid)


class Reminders(unittest.TestCase):
    def test_waiting_times(self):
        got = reminders_due([inv("1", "private", 9), inv("2", "private", 10), inv("3", "private", 12), inv("4", "firm", 15),
                             inv("5", "firm", 29), inv("6", "firm", 30), inv("7", "private", 40, TODAY)], TODAY)
        self.assertEqual([i.number for i in got], ["6", "3", "2"])
