#!/bin/sh
# `go build` is replaced by something that notes for what it would have built
set -eu
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
real=$(command -v go)
cat > "$d/go" <<E
#!/bin/sh
[ "\$1" = build ] || exec $real "\$@"
echo "\$GOOS \$GOARCH \${GOARM:-none} \$*" >> "$d/calls"
while [ \$# -gt 0 ]; do
  case \$1 in -o) touch "\$2";; -o=*) touch "\${1#-o=}";; esac
  shift
done
E
chmod 755 "$d/go"
unset GOOS GOARCH GOARM || true
PATH="$d:$PATH" sh scripts/release.sh 1.4.0 "$d/beacond"
[ -e "$d/beacond" ] || { echo "nothing built"; exit 1; }
cat "$d/calls"
grep -q '^linux arm 5' "$d/calls" && grep -q 'main.version=1.4.0' "$d/calls"
