"""Invoices of a small repair shop."""
