#!/bin/sh
# Hands a hook event to afterthought. Where the program is not installed, says so when a session starts and is silent
# otherwise: an agent would print a warning for every event.
if command -v afterthought >/dev/null 2>&1; then
  exec afterthought hook "$@"
fi
cat >/dev/null
if [ "$1" = session-start ]; then
  echo '{"systemMessage": "afterthought is not on the PATH, so this session starts without memories. Install the program, or remove the plugin."}'
fi
