import csv, io, unittest
from datetime import date
from ledgerette.model import Customer, Invoice, Line
from ledgerette.reports import bookkeeper_csv


class Bookkeeper(unittest.TestCase):
    def test_rows(self):
        text = bookkeeper_csv([Invoice("1190", Customer("Boatyard Finch"), date(2026, 1, 2), [Line("x", 124050)]),
                               Invoice("1187", Customer("Ada Quill"), date(2026, 1, 1), [Line("x", 10500)]),
                               Invoice("1186", Customer("Ada Quill"), date(2026, 1, 1), [Line("x", 1)], paid=date(2026, 1, 5))])
        rows = list(csv.reader(io.StringIO(text)))
        self.assertEqual([c.strip().lower() for c in rows[0]], ["number", "customer", "net"])
        self.assertEqual(rows[1:], [["1187", "Ada Quill", "105.00"], ["1190", "Boatyard Finch", "1240.50"]])
