import unittest
from ledgerette.refs import payment_reference


class Reference(unittest.TestCase):
    def test_digits(self):
        for number, want in (("1001", "10016"), ("1002", "10029"), ("1234567", "12345672"), ("2048", "20488"), ("10", "107")):
            self.assertEqual(payment_reference(number), want)
