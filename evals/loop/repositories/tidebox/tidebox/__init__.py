"""Daily summaries of tide gauge readings."""

__version__ = "0.9.2"
