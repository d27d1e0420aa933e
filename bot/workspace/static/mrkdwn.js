// Slack's mrkdwn as nodes. The text is data: every piece of it ends in a text node.

import { h } from "./dom.js";
import { EMOJI } from "./emoji.js";
import { dateToken, exact } from "./time.js";

const INLINE = new RegExp(
  [
    "`([^`\\n]+)`",
    "<([^<>\\n]+)>",
    "(?<![\\w*])\\*(?=\\S)([^*\\n]*[^*\\s])\\*(?![\\w*])",
    "(?<![\\w_])_(?=\\S)([^_\\n]*[^_\\s])_(?![\\w_])",
    "(?<![\\w~])~(?=\\S)([^~\\n]*[^~\\s])~(?![\\w~])",
    ":([a-z0-9_+-]+):",
  ].join("|"),
  "g",
);

export function unescape(text) {
  return text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}

export function emojify(text) {
  return text.replace(/:([a-z0-9_+-]+):/g, (all, name) => EMOJI[name] || all);
}

function safeLink(address, label) {
  const known = /^(https?:|mailto:)/i.test(address);
  if (!known) return document.createTextNode(label);
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, label);
}

// `names` looks up people, groups and rooms: {me, user(id), group(id), room(id), openRoom(id)}.
function token(inside, names) {
  const [target, label] = split(inside, "|");
  const kind = target[0];
  if (kind === "@") {
    const user = names.user(target.slice(1));
    const name = user ? user.real_name : unescape(label || target.slice(1));
    const mine = target.slice(1) === names.me ? " mention-me" : "";
    return h("span", { class: `mention${mine}` }, `@${name}`);
  }
  if (kind === "#") {
    const room = names.room(target.slice(1));
    const name = `#${room ? room.name : unescape(label || target.slice(1))}`;
    return h("a", { class: "mention", href: `#${target.slice(1)}` }, name);
  }
  if (kind === "!") return special(target.slice(1), label, names);
  const address = unescape(target);
  return safeLink(address, label ? unescape(label) : address);
}

function special(what, label, names) {
  if (what.startsWith("subteam^")) {
    const group = names.group(what.slice(8));
    const mine = group?.people.includes(names.me) ? " mention-me" : "";
    return h("span", { class: `mention${mine}` }, group ? `@${group.handle}` : unescape(label || "@group"));
  }
  if (what.startsWith("date^")) {
    const [, seconds, pattern, link] = what.split("^");
    const words = dateToken(seconds, unescape(pattern || "{date}")) ?? unescape(label || "");
    const time = h("time", { title: exact(new Date(Number(seconds) * 1000)) }, words);
    if (!link) return time;
    const anchor = safeLink(unescape(link), "");
    anchor.append(time);
    return anchor;
  }
  return h("span", { class: "mention mention-me" }, `@${unescape(label || what)}`);
}

function split(text, sign) {
  const at = text.indexOf(sign);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function inline(text, names) {
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > last) nodes.push(unescape(text.slice(last, match.index)));
    const [all, code, angle, bold, italic, strike, emoji] = match;
    if (code !== undefined) nodes.push(h("code", {}, ...codeParts(code, names)));
    else if (angle !== undefined) nodes.push(token(angle, names));
    else if (bold !== undefined) nodes.push(h("strong", {}, ...inline(bold, names)));
    else if (italic !== undefined) nodes.push(h("em", {}, ...inline(italic, names)));
    else if (strike !== undefined) nodes.push(h("s", {}, ...inline(strike, names)));
    else nodes.push(EMOJI[emoji] ? h("span", { class: "emoji", title: `:${emoji}:` }, EMOJI[emoji]) : all);
    last = match.index + all.length;
  }
  if (last < text.length) nodes.push(unescape(text.slice(last)));
  return nodes;
}

function codeParts(code, names) {
  return code.split(/(<[^<>\n]+>)/).map((part) =>
    /^<[^<>\n]+>$/.test(part) ? token(part.slice(1, -1), names) : unescape(part));
}

function lines(text, names) {
  const nodes = [];
  let quote = null;
  text.split("\n").forEach((line, n, all) => {
    const quoted = /^(&gt;|>) ?/.exec(line);
    if (quoted) {
      if (!quote) nodes.push((quote = h("blockquote")));
      else quote.append("\n");
      quote.append(...inline(line.slice(quoted[0].length), names));
      return;
    }
    nodes.push(...inline(line, names));
    if (n < all.length - 1 && !(quote && !line)) nodes.push("\n");
    quote = null;
  });
  return nodes;
}

export function mrkdwn(text, names) {
  const box = h("span", { class: "mrkdwn" });
  String(text).split("```").forEach((part, n, all) => {
    if (n % 2 === 1 && n < all.length - 1) box.append(h("pre", {}, ...codeParts(part.replace(/^\n|\n$/g, ""), names)));
    else if (part) box.append(...lines(n % 2 ? "```" + part : part.replace(/^\n/, n ? "" : "\n"), names));
  });
  return box;
}

// A text object of Block Kit: mrkdwn or plain.
export function textObject(text, names) {
  if (!text) return document.createTextNode("");
  if (text.type === "mrkdwn") return mrkdwn(text.text, names);
  return h("span", { class: "mrkdwn" }, text.emoji === false ? text.text : emojify(text.text));
}
