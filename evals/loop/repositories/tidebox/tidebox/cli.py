import argparse
import sys

from . import export, readings, summary


def main(argv=None):
    p = argparse.ArgumentParser(prog="tidebox")
    sub = p.add_subparsers(dest="cmd", required=True)
    s = sub.add_parser("summary", help="daily summaries as a table")
    s.add_argument("file")
    s.add_argument("--fill", action="store_true", help="also list days without readings")
    a = p.parse_args(argv)
    with open(a.file) as f:
        rs = readings.parse(f)
    print(export.to_text(summary.daily(rs, fill=a.fill)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
