// Times of messages and Slack's date tokens, in the zone and language of this browser.

export function stampDate(ts) {
  return new Date(Number(ts) * 1000);
}

const style = (options) => new Intl.DateTimeFormat(undefined, options);
const TIME = style({ hour: "numeric", minute: "2-digit" });
const SECONDS = style({ hour: "numeric", minute: "2-digit", second: "2-digit" });
const NUMERIC = style({ year: "numeric", month: "2-digit", day: "2-digit" });
const SHORT = style({ year: "numeric", month: "short", day: "numeric" });
const LONG = style({ year: "numeric", month: "long", day: "numeric", weekday: "long" });
const FULL = style({ year: "numeric", month: "long", day: "numeric" });

export const clock = (date) => TIME.format(date);
export const exact = (date) => `${LONG.format(date)}, ${SECONDS.format(date)}`;

function dayDistance(date) {
  const start = (day) => new Date(day.getFullYear(), day.getMonth(), day.getDate());
  return Math.round((start(date) - start(new Date())) / 86400000);
}

function pretty(date, formatter) {
  const words = new Map([[0, "today"], [-1, "yesterday"], [1, "tomorrow"]]);
  return words.get(dayDistance(date)) || formatter.format(date);
}

export function dayLabel(date) {
  const label = pretty(date, style({ weekday: "long", month: "long", day: "numeric" }));
  return label[0].toUpperCase() + label.slice(1);
}

export function ago(date) {
  const seconds = (date - Date.now()) / 1000;
  const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return seconds > 5 ? "in a moment" : "just now";
}

const TOKENS = {
  date_num: (date) => NUMERIC.format(date),
  date: (date) => FULL.format(date),
  date_short: (date) => SHORT.format(date),
  date_long: (date) => LONG.format(date),
  date_pretty: (date) => pretty(date, FULL),
  date_short_pretty: (date) => pretty(date, SHORT),
  date_long_pretty: (date) => pretty(date, LONG),
  time: (date) => TIME.format(date),
  time_secs: (date) => SECONDS.format(date),
  ago,
};

export function dateToken(seconds, pattern) {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.valueOf())) return null;
  return pattern.replace(/\{(\w+)\}/g, (all, name) => (TOKENS[name] ? TOKENS[name](date) : all));
}
