// The page: one person's view of the workspace, kept up to date by the server.

import { connect, explain, get, post } from "./api.js";
import { Composer } from "./composer.js";
import { Modals } from "./dialogs.js";
import { h, icon, present, toast } from "./dom.js";
import { renderHome } from "./home.js";
import { MessageList } from "./messages.js";
import { whenReleased } from "./pointer.js";
import { renderSidebar } from "./sidebar.js";
import { Thread } from "./thread.js";
import { setLanguage, setWorld, worldClock } from "./time.js";
import { welcome } from "./welcome.js";
import { speak, t } from "./words.js";

const $ = (id) => document.getElementById(id);
const CLOCK_MS = 2000;

const space = {
  me: null, boot: null, home: null, version: 0,
  rooms: new Map(),
  messages: new Map(),
  place: {},
  names: {
    get me() { return space.me; },
    user: (id) => space.boot.people.find((user) => user.id === id),
    people: () => space.boot.people.filter((user) => !user.is_bot && !user.deleted),
    group: (id) => space.boot.groups.find((group) => group.id === id),
    room: (id) => space.rooms.get(id),
  },
};

let disconnect = null;
let list = null;
let newAfter = null;
let linkUp = false;
const modals = new Modals(space);
const thread = new Thread($("thread"), space, { press });
const composer = new Composer(space, { label: t("message"), send: (text) => say(text) });
composer.open(false);
const header = h("header", { class: "head" });
const banner = h("div", { class: "banner", role: "status", testid: "banner", hidden: true });
const stage = h("div", { class: "stage" });
const tries = h("div", { class: "tries-slot" });
$("main").append(header, banner, stage, tries, composer.node);

function become(person) {
  disconnect?.();
  modals.hide();
  thread.close();
  localStorage.setItem("gpubot.person", person);
  const url = new URL(location.href);
  url.searchParams.set("person", person);
  history.replaceState(null, "", url);
  space.me = person;
  space.boot = null;
  composer.open(false);
  space.messages.clear();
  disconnect = connect(person, onEvent, (up) => { linkUp = up; renderBanner(); });
}

const handlers = {
  boot(event) {
    space.boot = event;
    setWorld(event.clock);
    const { locale } = event.people.find((user) => user.id === event.me) || {};
    speak(locale);
    setLanguage(locale);
    $("sidebar").setAttribute("aria-label", t("places"));
    $("thread").setAttribute("aria-label", t("thread"));
    space.version += 1;
    space.home = event.home;
    space.rooms = new Map(event.rooms.map((room) => [room.id, room]));
    space.messages.clear();
    modals.show(event.views);
    go(wantedPlace());
    composer.open(true);
  },
  message({ channel, message }) {
    const room = space.rooms.get(channel);
    if (!room) return;
    keep(channel, message);
    const top = !message.thread_ts || message.thread_ts === message.ts || message.subtype === "thread_broadcast";
    const seen = space.place.room === channel && document.visibilityState === "visible";
    if (top && !seen && message.user !== space.me && !message.is_ephemeral) room.unread += 1;
    if (top && seen) markRead(channel);
    sidebar();
    refresh(channel, message.user === space.me);
  },
  message_changed({ channel, message }) {
    keep(channel, message);
    refresh(channel);
  },
  message_deleted({ channel, ts }) {
    space.messages.get(channel)?.delete(ts);
    thread.forget(channel, ts);
    refresh(channel);
  },
  views({ stack }) { modals.show(stack); },
  home({ view }) {
    space.home = view;
    whenReleased("home", () => space.place.home && renderHome(stage, space));
  },
  presence({ connections }) {
    const was = space.boot.connections;
    space.boot.connections = connections;
    sidebar();
    renderBanner();
    if (space.place.home && connections && !was) post("home", { person: space.me });
  },
  read({ channel }) {
    const room = space.rooms.get(channel);
    if (room) room.unread = 0;
    sidebar();
  },
};

function onEvent(event) {
  if (event.type === "boot" || space.boot) handlers[event.type]?.(event);
}

function keep(channel, message) {
  const messages = space.messages.get(channel);
  messages?.set(message.ts, message);
  thread.keep(channel, message);
}

function wantedPlace() {
  const [room, ts] = location.hash.slice(1).split("/");
  if (room === "home") return { home: true };
  if (space.rooms.has(room)) return { room, ts };
  if (space.place.home) return space.place;
  if (space.rooms.has(space.place.room)) return { room: space.place.room };
  return { room: [...space.rooms.keys()][0] };
}

async function go(place) {
  space.place = place;
  drawer(false);
  const hash = place.home ? "#home" : `#${place.room}`;
  if (!location.hash.startsWith(hash)) history.replaceState(null, "", hash);
  if (thread.room && thread.room !== place.room) thread.close();
  sidebar();
  renderHeader();
  renderBanner();
  composer.node.hidden = tries.hidden = Boolean(place.home);
  if (place.home) {
    list = null;
    renderHome(stage, space);
    await post("home", { person: space.me });
    return;
  }
  const room = space.rooms.get(place.room);
  composer.label(t("messageTo", { where: room.is_im ? space.boot.app.name : `#${room.name}` }));
  const front = place.room === [...space.rooms.keys()][0]; // newcomers arrive in the first room
  tries.replaceChildren((front && welcome(space, (command) => { composer.put(command); composer.submit(); })) || "");
  newAfter = room.unread ? room.read : null;
  list = new MessageList(space, { press, openThread: (message) => thread.open(place.room, message),
    earlier: () => showEarlier(place.room),
    shortcut: (message, callback) => post("shortcut-on", {
      person: space.me, channel: place.room, ts: message.ts, callback_id: callback }) });
  list.introduce(room.is_im ? space.boot.app.name : `#${room.name}`, room.is_im ? space.boot.app.about : room.topic);
  stage.replaceChildren(list.scroller);
  await load(place.room);
  if (space.place !== place) return;
  refresh(place.room, true);
  if (place.ts) list.reveal(place.ts);
  markRead(place.room);
}

async function load(room) {
  if (space.messages.has(room)) return;
  const messages = new Map();
  space.messages.set(room, messages);
  const answer = await get("/page/history", { person: space.me, channel: room });
  for (const message of answer.messages || []) if (!messages.has(message.ts)) messages.set(message.ts, message);
  window_of(room).more = Boolean(answer.more);
}

// How much of a room is shown, and whether the server has more above it.
const windows = new Map();
function window_of(room) {
  if (!windows.has(room)) windows.set(room, { size: 500, more: false });
  return windows.get(room);
}

async function showEarlier(room) {
  const view = window_of(room);
  const messages = space.messages.get(room);
  if (messages.size <= view.size && view.more) {
    const oldest = [...messages.keys()].sort((a, b) => Number(a) - Number(b))[0];
    const answer = await get("/page/history", { person: space.me, channel: room, before: oldest });
    for (const message of answer.messages || []) messages.set(message.ts, message);
    view.more = Boolean(answer.more);
  }
  view.size += 200;
  refresh(room);
}

function refresh(channel, jump = false) {
  whenReleased(`${channel} ${jump}`, () => draw(channel, jump));
}

function draw(channel, jump) {
  thread.refresh(channel);
  if (!list || space.place.room !== channel) return;
  const top = [...(space.messages.get(channel)?.values() || [])].filter((message) =>
    !message.thread_ts || message.thread_ts === message.ts || message.subtype === "thread_broadcast");
  top.sort((a, b) => Number(a.ts) - Number(b.ts) || (a.ts < b.ts ? -1 : 1));
  const view = window_of(channel);
  list.show(top.slice(-view.size), { newAfter, jump });
  list.offerEarlier(view.more || top.length > view.size);
}

function markRead(channel) {
  const room = space.rooms.get(channel);
  room.unread = 0;
  sidebar();
  post("read", { person: space.me, channel });
}

async function say(text) {
  const channel = space.place.room;
  tries.firstElementChild?.fold();
  if (text.startsWith("/")) {
    const ts = (Date.now() / 1000).toFixed(6);
    space.messages.get(channel)?.set(ts, { ts, user: space.me, text, local: true });
    refresh(channel, true);
  }
  const answer = await post("say", { person: space.me, channel, text });
  if (!answer.ok) toast(explain(answer.error), "error");
  return answer.ok;
}

async function press(message, action, values, node) {
  if (node) node.disabled = true;
  node?.classList.add("busy");
  const channel = message.channel || thread.owns(message) || space.place.room;
  const answer = await post("press", { person: space.me, channel, ts: message.ts, action, values });
  if (node) node.disabled = false;
  node?.classList.remove("busy");
  if (answer.error) toast(explain(answer.error), "error");
}

function sidebar() {
  whenReleased("sidebar", () => space.boot && renderSidebar($("sidebar"), space, { go, become }));
  const unread = [...space.rooms.values()].reduce((sum, room) => sum + (space.place.room === room.id ? 0 : room.unread), 0);
  document.title = `${unread ? `(${unread}) ` : ""}${t("title")}`;
  header.querySelector(".menu-dot")?.toggleAttribute("hidden", unread === 0);
}

function drawer(open) {
  $("app").classList.toggle("drawer-open", open);
  $("scrim").hidden = !open;
}

function renderHeader() {
  const room = space.rooms.get(space.place.room);
  const bot = space.boot.app;
  const title = space.place.home ? bot.name : room.is_im ? bot.name : room.name;
  const about = space.place.home || room.is_im ? bot.about : room.topic;
  const direct = [...space.rooms.values()].find((each) => each.is_im);
  const tab = (label, active, place, testid) => h("button", { type: "button", class: `tab${active ? " active" : ""}`, testid,
    "aria-current": active ? "page" : null, onclick: () => go(place) }, label);
  header.replaceChildren(...present([
    h("button", { type: "button", class: "icon-button menu-button", "aria-label": t("places"), testid: "menu",
      onclick: () => drawer(true) }, icon("menu"), h("span", { class: "menu-dot", hidden: true })),
    h("div", { class: "head-text" },
      h("h1", { testid: "title" }, !space.place.home && !room.is_im && h("span", { class: "sign" }, "#"), title),
      h("p", { class: "topic" }, about)),
    (space.place.home || room.is_im) && h("div", { class: "tabs" },
      tab(t("tabHome"), Boolean(space.place.home), { home: true }, "tab-home"),
      tab(t("tabMessages"), !space.place.home, { room: direct.id }, "tab-messages")),
    h("div", { class: "clock", testid: "clock", hidden: !space.boot.clock, title: t("clock") },
      icon("clock"), h("span", { class: "clock-text" }, space.boot.clock ? worldClock() : "")),
  ]));
}

function renderBanner() {
  const text = !linkUp ? t("connecting")
    : space.boot && !space.boot.connections ? t("away") : "";
  banner.hidden = !text;
  banner.textContent = text;
}

async function tick() {
  if (!space.boot?.clock || document.visibilityState !== "visible") return;
  try {
    const { clock } = await get("/page/clock");
    setWorld(clock);
    const node = header.querySelector(".clock-text");
    if (node && clock) node.textContent = worldClock();
  } catch {
    // The link is down; the banner says so.
  }
}

$("scrim").addEventListener("click", () => drawer(false));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") drawer(false);
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && space.boot && space.place.room) markRead(space.place.room);
});
window.addEventListener("hashchange", () => space.boot && go(wantedPlace()));
setInterval(tick, CLOCK_MS);

async function start() {
  const { people } = await get("/page/people");
  const asked = new URLSearchParams(location.search).get("person") || localStorage.getItem("gpubot.person");
  become(people.some((person) => person.id === asked) ? asked : people[0].id);
}

start();
