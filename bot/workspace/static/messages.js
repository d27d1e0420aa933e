// A list of messages: grouped by author, divided by day, changed in place.

import { renderBlocks } from "./blocks.js";
import { avatar, h, icon } from "./dom.js";
import { EMOJI } from "./emoji.js";
import { mrkdwn } from "./mrkdwn.js";
import { ago, briefClock, clock, dayLabel, exact, stampDate } from "./time.js";
import { t } from "./words.js";

const GROUP_SECONDS = 300;
const COUNTED = new Set(["thread_ts", "reply_count", "reply_users", "reply_users_count", "latest_reply"]);

// `actions` = {press(message, action, values, node), openThread(message)}; `inThread` hides thread links.
export class MessageList {
  constructor(space, actions, { inThread = false } = {}) {
    this.space = space;
    this.actions = actions;
    this.inThread = inThread;
    this.nodes = new Map();
    this.list = h("ol", { class: "messages" });
    this.intro = h("div", { class: "intro", hidden: true });
    this.earlier = h("button", { type: "button", class: "link-button", hidden: true, testid: "earlier",
      onclick: () => this.showEarlier() }, t("earlier"));
    this.scroller = h("div", { class: "scroller", tabindex: "0", role: "log", "aria-label": t("messages") },
      this.intro, this.earlier, this.list);
    this.stuck = true;
    this.scroller.addEventListener("scroll", () => { this.stuck = this.atBottom(); });
    // Also when a picture has come, which makes the list longer by itself.
    const watch = new ResizeObserver(() => { if (this.stuck) this.toBottom(); });
    [this.scroller, this.list].forEach((node) => watch.observe(node));
  }

  // What stands above the first message.
  introduce(name, about) {
    this.intro.hidden = false;
    this.intro.replaceChildren(h("h2", {}, name), h("p", {}, t("beginning", { about })));
  }

  // One page at a time: a second press before the first page is there would ask for the same one.
  async showEarlier() {
    this.earlier.disabled = true;
    try {
      await this.actions.earlier();
    } finally {
      this.earlier.disabled = false;
    }
  }

  // Whether there is more above what is shown.
  offerEarlier(there) {
    this.earlier.hidden = !there;
    this.intro.hidden = there;
  }

  atBottom() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < 60;
  }

  // `messages` in order; `newAfter` draws the "New" line after that time stamp.
  show(messages, { newAfter = null, jump = false } = {}) {
    const stick = jump || this.stuck;
    const wanted = [];
    let before = null;
    let marked = false;
    for (const message of messages) {
      const day = stampDate(message.ts).toDateString();
      const fresh = !before || stampDate(before.ts).toDateString() !== day;
      if (fresh) wanted.push(this.keyed(`day ${day}`, day, () => dayLine(message)));
      const isNew = newAfter && !marked && Number(message.ts) > Number(newAfter) && message.user !== this.space.me;
      if (isNew && before) {
        marked = true;
        wanted.push(this.keyed("new", newAfter, () => h("li", { class: "new-line" }, h("span", {}, t("fresh")))));
      }
      const compact = !fresh && !(isNew && before) && follows(before, message);
      const said = Object.entries(message).filter(([name]) => !COUNTED.has(name));
      const sign = JSON.stringify([said, compact, this.space.version]);
      wanted.push(this.keyed(message.ts, sign, () => this.item(message, compact)));
      this.count(message);
      before = message;
    }
    this.place(wanted);
    if (stick) this.toBottom();
  }

  // Replies are counted in place: a card that is being pressed must not be replaced for them.
  count(message) {
    const entry = this.nodes.get(message.ts);
    const sign = `${message.reply_count} ${message.latest_reply}`;
    if (this.inThread || message.local || entry.counted === sign) return;
    entry.counted = sign;
    entry.node.querySelector(".replies-slot").replaceChildren(...(message.reply_count ? [this.replies(message)] : []));
  }

  toBottom() {
    this.stuck = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  keyed(key, sign, make) {
    const known = this.nodes.get(key);
    if (known?.sign === sign) return [key, known];
    const entry = { sign, node: make() };
    this.nodes.set(key, entry);
    return [key, entry];
  }

  place(wanted) {
    const keep = new Set(wanted.map(([key]) => key));
    for (const key of [...this.nodes.keys()]) if (!keep.has(key)) this.nodes.delete(key);
    const nodes = new Set(wanted.map(([, entry]) => entry.node));
    for (const node of [...this.list.children]) if (!nodes.has(node)) node.remove();
    wanted.forEach(([, { node }], n) => {
      if (this.list.children[n] !== node) this.list.insertBefore(node, this.list.children[n] || null);
    });
  }

  reveal(ts) {
    const node = this.nodes.get(ts)?.node;
    node?.scrollIntoView({ block: "center" });
    node?.classList.add("flash");
  }

  item(message, compact) {
    if (message.local) return h("li", { class: "message-sent", testid: "sent" }, `${t("sent")} `, h("code", {}, message.text));
    const names = this.space.names;
    const user = names.user(message.user) || { id: message.user, real_name: message.username || t("someone") };
    const when = stampDate(message.ts);
    const time = h("time", { class: "time", title: exact(when), datetime: when.toISOString() }, compact ? briefClock(when) : clock(when));
    const head = compact ? null : h("div", { class: "message-head" },
      h("span", { class: "author" }, user.real_name),
      user.is_bot && h("span", { class: "app-badge" }, "APP"), time);
    const body = h("div", { class: "message-body" }, head, ...this.content(message));
    const classes = ["message", compact && "compact", message.is_ephemeral && "ephemeral"].filter(Boolean).join(" ");
    return h("li", { class: classes, testid: "message", "data-ts": message.ts, "data-user": message.user,
      "data-ephemeral": message.is_ephemeral ? "true" : null },
      message.is_ephemeral && h("div", { class: "only-you", testid: "ephemeral" }, icon("eye"), t("onlyYou")),
      h("div", { class: "message-row" },
        h("div", { class: "gutter" }, compact ? time : avatar(user)), body),
      this.tools(message));
  }

  content(message) {
    const names = this.space.names;
    const parts = [];
    if (message.subtype === "thread_broadcast" && !this.inThread) {
      parts.push(h("button", { type: "button", class: "link-button", onclick: () => this.actions.openThread(message) },
        t("broadcast")));
    }
    const body = h("div", { class: "content", testid: "message-text" });
    if (message.blocks?.length) {
      body.append(renderBlocks(message.blocks, {
        names, root: () => body,
        press: (action, values, node) => this.actions.press(message, action, values, node),
      }));
    } else if (message.text) {
      body.append(mrkdwn(message.text, names));
    }
    if (message.edited && !message.bot_id) body.append(h("span", { class: "edited" }, ` ${t("edited")}`));
    parts.push(body, ...(message.files || []).map(file));
    if (message.reactions?.length) parts.push(h("div", { class: "reactions" }, ...message.reactions.map((reaction) =>
      h("span", { class: "reaction", title: `:${reaction.name}:` },
        EMOJI[reaction.name] || `:${reaction.name}:`, ` ${reaction.count}`))));
    parts.push(h("div", { class: "replies-slot" }));
    return parts;
  }

  replies(message) {
    const faces = (message.reply_users || []).slice(0, 3).map((id) => avatar(this.space.names.user(id), true));
    const count = message.reply_count === 1 ? t("oneReply") : t("replies", { count: message.reply_count });
    return h("button", { type: "button", class: "replies", testid: "thread-open",
      onclick: () => this.actions.openThread(message) },
      ...faces, h("span", { class: "replies-count" }, count),
      h("span", { class: "muted" }, t("lastReply", { when: ago(stampDate(message.latest_reply), new Date()) })));
  }

  tools(message) {
    if (this.inThread || message.is_ephemeral) return null;
    const shortcuts = this.space.boot.shortcuts.filter((shortcut) => shortcut.on_message);
    return h("div", { class: "tools" },
      ...shortcuts.map((shortcut) => h("button", { type: "button", class: "icon-button", title: shortcut.label,
        "aria-label": shortcut.label, testid: `on-message-${shortcut.callback_id}`,
        onclick: () => this.actions.shortcut(message, shortcut.callback_id) }, icon("bolt"))),
      h("button", { type: "button", class: "icon-button", title: t("replyIn"), "aria-label": t("replyIn"),
        testid: "thread-start", onclick: () => this.actions.openThread(message) }, icon("reply")));
  }
}

function dayLine(message) {
  return h("li", { class: "day" }, h("span", {}, dayLabel(stampDate(message.ts))));
}

function follows(before, message) {
  return before && !before.local && before.user === message.user && !message.is_ephemeral && !before.is_ephemeral
    && message.subtype !== "thread_broadcast" && Number(message.ts) - Number(before.ts) < GROUP_SECONDS;
}

function file(each) {
  const picture = each.mimetype.startsWith("image/");
  return h("figure", { class: "file", testid: "file" },
    h("figcaption", {}, icon("file"), each.title),
    h("a", { href: each.url_private, target: "_blank", rel: "noopener" },
      picture ? h("img", { src: each.url_private, alt: each.alt_txt }) : t("download", { name: each.name })));
}
