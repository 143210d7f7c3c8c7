import io
import unittest
from datetime import date

from ledgerette import money, reports, store
from ledgerette.model import Customer, Invoice, Line


def invoice(number="1001", sent=date(2026, 3, 2), **more):
    return Invoice(number, Customer("Ada Quill"), sent, [Line("new chain", 4500), Line("labour", 6000)], **more)


class Model(unittest.TestCase):
    def test_net(self):
        self.assertEqual(invoice(discount=500).net, 10000)


class Money(unittest.TestCase):
    def test_show(self):
        self.assertEqual(money.show(1234567), "12 345.67")
        self.assertEqual(money.show(-5), "-0.05")


class Store(unittest.TestCase):
    def test_round_trip(self):
        f = io.StringIO()
        store.dump([invoice(), invoice("1002", paid=date(2026, 4, 1))], f)
        f.seek(0)
        self.assertEqual(store.load(f)[1].paid, date(2026, 4, 1))

    def test_broken_line(self):
        with self.assertRaisesRegex(ValueError, "line 1"):
            store.load(io.StringIO("{oops"))


class Reports(unittest.TestCase):
    def test_open(self):
        got = reports.open_invoices([invoice("2", date(2026, 3, 5)), invoice("1"), invoice("3", paid=date(2026, 3, 9))])
        self.assertEqual([i.number for i in got], ["1", "2"])
        self.assertEqual(reports.open_by_customer(got), {"Ada Quill": 21000})
