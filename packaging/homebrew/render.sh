#!/bin/sh
# Prints the formula of a release: render.sh VERSION REPOSITORY FOLDER, where FOLDER has the checksums of its archives.
set -eu
script="s|@VERSION@|$1|g; s|@REPOSITORY@|$2|g"
for target in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-musl x86_64-unknown-linux-musl; do
  sum=$(cut -d ' ' -f 1 "$3/afterthought-$target.tar.gz.sha256")
  script="$script; s|@SHA256:$target@|$sum|"
done
formula=$(sed "$script" "$(dirname "$0")/afterthought.rb")
# The comment about the template is not for readers of the formula.
printf '%s\n' "$formula" | sed 1d
