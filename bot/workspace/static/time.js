// Times of messages and Slack's date tokens, in the zone of this browser, and in its language or,
// where that is not English, in the language of whoever is at the page.
// Messages are stamped by our time. Date tokens are the bot's, and its world may have another
// time and pace: what is "today" or "in 2 hours" there goes by the world's clock.

import { t } from "./words.js";

let world = null;

// `clock` is {now, speed} as the server sends it, or null where the bot lives in our time.
export function setWorld(clock) {
  world = clock && { ...clock, at: performance.now() };
}

export function worldNow() {
  if (!world) return new Date();
  return new Date((world.now + ((performance.now() - world.at) / 1000) * world.speed) * 1000);
}

export function worldClock() {
  return t("pace", { time: inWorld.format(worldNow()), speed: world.speed.toLocaleString() });
}

export function stampDate(ts) {
  return new Date(Number(ts) * 1000);
}

const style = (options, language) => new Intl.DateTimeFormat(language, options);
const short = (language) => style({ hour: "numeric", minute: "2-digit" }, language);
const precise = (language) => style({ hour: "numeric", minute: "2-digit", second: "2-digit" }, language);
const whole = (language) => style({ year: "numeric", month: "long", day: "numeric", weekday: "long" }, language);
const ofWorld = (language) => style({ weekday: "short", day: "numeric", month: "short", hour: "numeric",
  minute: "2-digit" }, language);
let spoken;
let [hours, seconds, long, inWorld] = [short(), precise(), whole(), ofWorld()];

export const clock = (date) => hours.format(date);
// Without AM and PM, for where there is little room.
export const briefClock = (date) => hours.formatToParts(date).filter((part) => part.type !== "dayPeriod")
  .map((part) => part.value).join("").trim();
export const exact = (date) => `${long.format(date)}, ${seconds.format(date)}`;

function dayDistance(date, now) {
  const start = (day) => new Date(day.getFullYear(), day.getMonth(), day.getDate());
  return Math.round((start(date) - start(now)) / 86400000);
}

function pretty(date, formatter, now = worldNow()) {
  const days = dayDistance(date, now);
  if (Math.abs(days) > 1) return formatter.format(date);
  const { locale } = formatter.resolvedOptions();
  return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(days, "day");
}

export function dayLabel(date) {
  const label = pretty(date, style({ weekday: "long", month: "long", day: "numeric" }, spoken), new Date());
  return label[0].toUpperCase() + label.slice(1);
}

export function ago(date, now = worldNow(), language = spoken) {
  const apart = (date - now) / 1000;
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(apart) >= size) return relative.format(Math.round(apart / size), unit);
  }
  return t(apart > 5 ? "soon" : "now");
}

function tokensIn(language) {
  const numeric = style({ year: "numeric", month: "2-digit", day: "2-digit" }, language);
  const brief = style({ year: "numeric", month: "short", day: "numeric" }, language);
  const full = style({ year: "numeric", month: "long", day: "numeric" }, language);
  const long = style({ year: "numeric", month: "long", day: "numeric", weekday: "long" }, language);
  const time = style({ hour: "numeric", minute: "2-digit" }, language);
  const seconds = style({ hour: "numeric", minute: "2-digit", second: "2-digit" }, language);
  return {
    date_num: (date) => numeric.format(date),
    date: (date) => full.format(date),
    date_short: (date) => brief.format(date),
    date_long: (date) => long.format(date),
    date_pretty: (date) => pretty(date, full),
    date_short_pretty: (date) => pretty(date, brief),
    date_long_pretty: (date) => pretty(date, long),
    time: (date) => time.format(date),
    time_secs: (date) => seconds.format(date),
    ago: (date) => ago(date, worldNow(), language),
  };
}
let tokens = tokensIn();

// `locale` is that of the person at the page, such as "zh-CN".
export function setLanguage(locale) {
  spoken = !locale || locale.startsWith("en") ? undefined : locale;
  tokens = tokensIn(spoken);
  [hours, seconds, long, inWorld] = [short(spoken), precise(spoken), whole(spoken), ofWorld(spoken)];
}

export function dateToken(seconds, pattern) {
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.valueOf())) return null;
  return pattern.replace(/\{(\w+)\}/g, (all, name) => (tokens[name] ? tokens[name](date) : all));
}
