import unittest
from datetime import date
from tidebox.export import export_name


class Names(unittest.TestCase):
    def test_name(self):
        self.assertEqual(export_name("N07", date(2026, 3, 2)), "N07_20260302.csv")
        self.assertEqual(export_name("S02", date(2026, 11, 30)), "S02_20261130.csv")
