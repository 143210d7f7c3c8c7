import unittest
from datetime import datetime
from tidebox.readings import Reading, clean


def at(h, m, level):
    return Reading(datetime(2026, 3, 2, h, m), "N07", level)


class Clean(unittest.TestCase):
    def test_wave_crest_counts(self):
        got = clean([at(1, 0, 6.4), at(1, 30, 3.0)])
        self.assertEqual([round(r.level, 6) for r in got], [6.2])

    def test_limit_is_the_sensors(self):
        got = clean([at(2, 0, 5.0), at(2, 30, 5.4)])
        self.assertEqual([round(r.level, 6) for r in got], [6.7])

    def test_impossible_hour(self):
        got = clean([at(3, 0, -6.5), at(3, 30, -6.9), at(4, 0, 1.0)])
        self.assertEqual([round(r.level, 6) for r in got], [2.5])
