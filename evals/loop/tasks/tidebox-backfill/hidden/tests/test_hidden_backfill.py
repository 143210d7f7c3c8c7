import os, subprocess, tempfile, unittest
from tidebox import readings

STUB = """#!/bin/sh
[ "$1" = dump ] || { echo "gaugectl: unknown command" >&2; exit 64; }
shift
si=0; day=; st=
while [ $# -gt 0 ]; do
  case $1 in
    --si) si=1;;
    --units) echo "gaugectl: --units applies to 'live' only, ignored" >&2; shift;;
    --units=*) echo "gaugectl: --units applies to 'live' only, ignored" >&2;;
    --station) st=$2; shift;; --station=*) st=${1#*=};;
    --day) day=$2; shift;; --day=*) day=${1#*=};;
    *) echo "gaugectl: unknown option $1" >&2; exit 64;;
  esac
  shift
done
echo ts,station,level
if [ $si = 1 ]; then echo "${day}T00:00:00,$st,2.12"; else echo "${day}T00:00:00,$st,212.0"; fi
"""


class Backfill(unittest.TestCase):
    def test_levels_are_metres(self):
        with tempfile.TemporaryDirectory() as bin:
            tool = os.path.join(bin, "gaugectl")
            with open(tool, "w") as f:
                f.write(STUB)
            os.chmod(tool, 0o755)
            env = dict(os.environ, PATH=bin + os.pathsep + os.environ["PATH"])
            subprocess.run(["sh", "scripts/backfill.sh", "N07", "2026-03-02", "2026-03-03"], env=env, check=True, timeout=15)
        for day in ("2026-03-02", "2026-03-03"):
            with open(f"data/N07-{day}.csv") as f:
                self.assertEqual([r.level for r in readings.parse(f)], [2.12])
