import unittest
from datetime import date
from tidebox.export import to_csv
from tidebox.summary import Summary


class Csv(unittest.TestCase):
    def test_rows(self):
        got = to_csv([Summary("N07", date(2026, 3, 2), -1.384, 2.12, 0.3),
                      Summary("N07", date(2026, 3, 3), None, None, None)]).split("\n")
        self.assertEqual(got[0], "station,day,low,high,mean")
        self.assertEqual(got[1], "N07,2026-03-02,-1.38,2.12,0.30")
        head = "N07,2026-03-03,"
        self.assertTrue(got[2].startswith(head))
        self.assertEqual([float(v) for v in got[2][len(head):].split(",")], [-99.9] * 3)
