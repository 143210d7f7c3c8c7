import os, subprocess, tempfile, unittest

STUB = """#!/bin/sh
cd "$STATE"
m=$2
[ "$m" = 2026-03 ] || { echo "books: no month" >&2; exit 64; }
case $1 in
  fx-freeze) [ -e push ] || { echo "books: E207 nothing to freeze" >&2; exit 1; }; [ ! -e lock ] || { echo "books: E300 locked" >&2; exit 1; }; touch fx;;
  push) [ ! -e lock ] || { echo "books: E300 locked" >&2; exit 1; }; touch push;;
  lock) touch lock;;
  report) [ -e lock ] || { echo "books: E311 month still open" >&2; exit 1; }; [ -e push ] && touch report;;
  *) echo "books: unknown command" >&2; exit 64;;
esac
"""


class MonthEnd(unittest.TestCase):
    def test_goes_through(self):
        with tempfile.TemporaryDirectory() as d:
            tool = os.path.join(d, "books")
            with open(tool, "w") as f:
                f.write(STUB)
            os.chmod(tool, 0o755)
            env = dict(os.environ, PATH=d + os.pathsep + os.environ["PATH"], STATE=d)
            r = subprocess.run(["sh", "scripts/month_end.sh", "2026-03"], env=env, capture_output=True, text=True, timeout=15)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertLessEqual({"fx", "push", "lock", "report"}, set(os.listdir(d)))
