// Days are strings like "2026-03-02".

const DAY = 24 * 3600 * 1000;

export function addDays(day, n) {
  return new Date(Date.parse(day + "T00:00:00Z") + n * DAY).toISOString().slice(0, 10);
}

export function daysBetween(from, to) {
  return Math.round((Date.parse(to + "T00:00:00Z") - Date.parse(from + "T00:00:00Z")) / DAY);
}

// 0 is Sunday, 6 is Saturday.
export function weekday(day) {
  return new Date(day + "T00:00:00Z").getUTCDay();
}
