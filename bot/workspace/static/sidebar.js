// The left side: who you are, and where you can go.

import { avatar, h, icon } from "./dom.js";
import { t } from "./words.js";

// `go(place)` opens {room} or {home: true}; `become(person)` switches the person.
export function renderSidebar(root, space, { go, become }) {
  const { boot } = space;
  const rooms = [...space.rooms.values()];
  const channels = rooms.filter((room) => !room.is_im);
  const direct = rooms.filter((room) => room.is_im);
  const open = root.querySelector(".people-menu:not([hidden])") !== null;
  const bot = space.names.user(boot.app.user_id);
  const online = boot.connections > 0;
  const focused = root.contains(document.activeElement) ? document.activeElement.dataset.testid : null;
  root.replaceChildren(
    h("div", { class: "team" }, h("strong", {}, boot.team.name), h("span", { class: "team-note" }, t("workspace"))),
    personSwitch(space, become, open),
    h("div", { class: "places" },
      h("h2", {}, t("channels")),
      ...channels.map((room) => place(space, room, h("span", { class: "sign" }, "#"), room.name, `channel-${room.name}`, go)),
      h("h2", {}, t("direct")),
      ...direct.map((room) => place(space, room, presence(bot, online), boot.app.name, "dm-gpubot", go)),
      h("h2", {}, t("apps")),
      h("button", { type: "button", class: `place${space.place.home ? " active" : ""}`, testid: "app-home",
        "aria-current": space.place.home ? "page" : null, onclick: () => go({ home: true }) },
        icon("home"), h("span", { class: "place-name" }, t("home", { app: boot.app.name })))),
    h("p", { class: `link-state${online ? " online" : ""}`, testid: "presence" },
      t(online ? "online" : "offline")));
  // News must not take the keyboard away from whoever is walking through the places.
  if (focused) root.querySelector(`[data-testid="${CSS.escape(focused)}"]`)?.focus();
}

function place(space, room, sign, name, testid, go) {
  const active = space.place.room === room.id;
  const unread = active ? 0 : room.unread;
  return h("button", { type: "button", class: `place${active ? " active" : ""}${unread ? " unread" : ""}`, testid,
    "aria-current": active ? "page" : null, onclick: () => go({ room: room.id }) },
    sign, h("span", { class: "place-name" }, name),
    unread > 0 && h("span", { class: "badge", testid: `unread-${room.name}`, "aria-label": t("unread", { count: unread }) },
      unread > 99 ? "99+" : String(unread)));
}

function presence(bot, online) {
  return h("span", { class: `presence${online ? " online" : ""}` }, avatar(bot, true));
}

function personSwitch(space, become, open) {
  const { boot } = space;
  const me = space.names.user(boot.me);
  const people = boot.people.filter((user) => !user.is_bot && !user.deleted);
  const menu = h("div", { class: "people-menu", role: "menu", hidden: !open }, h("p", { class: "menu-note" }, t("be")),
    ...people.map((user) => h("button", { type: "button", role: "menuitemradio", class: "person", testid: `person-${user.id}`,
      "aria-checked": user.id === boot.me ? "true" : "false", onclick: () => { menu.hidden = true; become(user.id); } },
      avatar(user, true),
      h("span", { class: "person-text" }, h("span", { class: "person-name" }, user.real_name), h("span", { class: "person-title" }, user.title)),
      user.id === boot.me && icon("check"))));
  const toggle = h("button", { type: "button", class: "person person-me", testid: "person-switch", "aria-haspopup": "menu",
    "aria-expanded": String(open), title: t("switchPerson"), onclick: () => {
      menu.hidden = !menu.hidden;
      toggle.setAttribute("aria-expanded", String(!menu.hidden));
      if (!menu.hidden) menu.querySelector("[aria-checked=true]")?.focus();
    } },
    avatar(me),
    h("span", { class: "person-text" }, h("span", { class: "you-are" }, t("youAre")), h("span", { class: "person-name", testid: "me" }, me.real_name),
      h("span", { class: "person-title" }, me.title)),
    icon("down"));
  const box = h("div", { class: "person-switch" }, toggle, menu);
  box.addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !menu.hidden) {
      event.preventDefault();
      items.at((items.indexOf(document.activeElement) + step) % items.length).focus();
    }
    if (event.key === "Escape" && !menu.hidden) {
      menu.hidden = true;
      toggle.focus();
    }
  });
  box.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !box.contains(event.relatedTarget)) menu.hidden = true;
  });
  return box;
}
