"""What is open."""


def open_invoices(invoices):
    """Unpaid ones, the oldest first."""
    return sorted((i for i in invoices if i.paid is None), key=lambda i: (i.sent, i.number))


def open_by_customer(invoices):
    """Name -> cents still to come (net)."""
    out = {}
    for i in open_invoices(invoices):
        out[i.customer.name] = out.get(i.customer.name, 0) + i.net
    return out


def month(invoices, year, month):
    """The invoices sent in a month."""
    return [i for i in invoices if (i.sent.year, i.sent.month) == (year, month)]
