"""Formatting of amounts."""


def show(cents):
    """1234567 -> '12 345.67'"""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}".replace(",", " ") + f".{rest:02d}"
