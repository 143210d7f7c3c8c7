import unittest
from datetime import date, datetime

from tidebox import export, readings, stations, summary
from tidebox.readings import Reading


class Parse(unittest.TestCase):
    def test_rows(self):
        rs = readings.parse(["ts,station,level", "2026-03-02T00:10:00,N07,1.25"])
        self.assertEqual(rs, [Reading(datetime(2026, 3, 2, 0, 10), "N07", 1.25)])

    def test_not_metres(self):
        with self.assertRaises(ValueError):
            readings.parse(["ts,station,level", "2026-03-02T00:10:00,N07,412"])


class Daily(unittest.TestCase):
    def test_fill(self):
        rs = [Reading(datetime(2026, 3, d, 5), "N07", 1.0) for d in (1, 3)]
        got = summary.daily(rs, fill=True)
        self.assertEqual([s.day for s in got], [date(2026, 3, d) for d in (1, 2, 3)])
        self.assertIsNone(got[1].low)

    def test_text(self):
        self.assertIn("(no readings)", export.to_text([summary.Summary("N07", date(2026, 3, 2), None, None, None)]))


class Stations(unittest.TestCase):
    def test_lookup(self):
        self.assertEqual(stations.lookup("n07").name, "North Quay")
        with self.assertRaises(LookupError):
            stations.lookup("X1")
