"use strict";

// Minutes of the day -> "hh:mm"
function hhmm(minutes) {
  const m = Math.floor(minutes);
  return `${String(Math.floor(m / 60)).padStart(2, "0")}:${String(m % 60).padStart(2, "0")}`;
}

function minutes(text) {
  const m = /^(\d{1,2}):(\d{2})$/.exec(text);
  if (!m || m[2] > 59) throw new Error(`no time of day: ${text}`);
  return Number(m[1]) * 60 + Number(m[2]);
}

module.exports = { hhmm, minutes };
