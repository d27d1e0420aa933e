// The thread panel at the right.

import { explain, get, post } from "./api.js";
import { Composer } from "./composer.js";
import { h, icon, toast } from "./dom.js";
import { MessageList } from "./messages.js";
import { t } from "./words.js";

export class Thread {
  constructor(root, space, actions) {
    this.root = root;
    this.space = space;
    this.actions = actions;
    this.room = this.ts = null;
    this.messages = new Map();
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      this.close();
    });
  }

  async open(room, message) {
    this.room = room;
    this.ts = message.thread_ts || message.ts;
    this.messages = new Map();
    this.list = new MessageList(this.space, { press: this.actions.press, openThread: () => {} }, { inThread: true });
    this.composer = new Composer(this.space, { label: t("reply"), testid: "thread-composer", commands: false,
      send: (text) => this.say(text) });
    this.composer.name();
    const where = this.space.rooms.get(room);
    this.root.replaceChildren(
      h("header", { class: "head" }, h("div", { class: "head-text" }, h("h2", {}, t("thread")),
        h("p", { class: "topic" }, where.is_im ? this.space.boot.app.name : `#${where.name}`)),
      h("button", { type: "button", class: "icon-button", "aria-label": t("closeThread"), testid: "thread-close",
        onclick: () => this.close() }, icon("close"))),
      this.list.scroller, this.composer.node);
    this.root.dataset.testid = "thread";
    this.root.hidden = false;
    document.getElementById("app").classList.add("with-thread");
    const { ts } = this;
    const answer = await get("/page/history", { person: this.space.me, channel: room, ts });
    if (this.ts !== ts) return;
    for (const each of answer.messages || []) if (!this.messages.has(each.ts)) this.messages.set(each.ts, each);
    this.refresh(room, true);
    this.composer.box.focus();
  }

  close() {
    this.root.hidden = true;
    this.root.replaceChildren();
    this.room = this.ts = null;
    document.getElementById("app").classList.remove("with-thread");
  }

  keep(room, message) {
    if (room === this.room && (message.ts === this.ts || message.thread_ts === this.ts)) this.messages.set(message.ts, message);
  }

  forget(room, ts) {
    if (room === this.room) this.messages.delete(ts);
  }

  owns(message) {
    return this.messages.has(message.ts) ? this.room : null;
  }

  refresh(room, jump = false) {
    if (room !== this.room) return;
    const sorted = [...this.messages.values()].sort((a, b) => Number(a.ts) - Number(b.ts) || (a.ts < b.ts ? -1 : 1));
    this.list.show(sorted, { jump });
  }

  async say(text) {
    const answer = await post("say", { person: this.space.me, channel: this.room, text, thread_ts: this.ts });
    if (!answer.ok) toast(explain(answer.error), "error");
    return answer.ok;
  }
}
