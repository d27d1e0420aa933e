// Where people write: Enter sends, a popup completes commands and names.

import { post } from "./api.js";
import { avatar, h, icon } from "./dom.js";
import { t } from "./words.js";

// `send(text)` resolves when the server has taken it. `label` is what the box is called.
export class Composer {
  constructor(space, { label, send, testid = "composer", commands = true }) {
    this.space = space;
    this.onSend = send;
    this.withCommands = commands;
    this.options = [];
    this.at = 0;
    const id = `${testid}-popup`;
    this.popup = h("ul", { class: "popup", id, role: "listbox", hidden: true, testid: `${testid}-suggestions` });
    this.box = h("textarea", {
      rows: 1, placeholder: label, "aria-label": label, testid, "aria-controls": id, "aria-autocomplete": "list",
      oninput: () => this.changed(), onkeydown: (event) => this.key(event),
      onblur: () => setTimeout(() => { this.popup.hidden = true; }, 150),
    });
    this.button = h("button", { type: "button", class: "send", disabled: true,
      testid: testid === "composer" ? "send" : `${testid}-send`, onclick: () => this.submit() }, icon("send"));
    this.slash = commands && h("button", { type: "button", class: "icon-button slash", testid: "slash", onclick: () => this.put("/") }, "/");
    this.hint = h("span", { class: "composer-hint" });
    this.node = h("div", { class: "composer" }, this.popup,
      h("div", { class: "composer-box" }, this.box,
        h("div", { class: "composer-bar" }, this.slash,
          this.hint, this.button)));
  }

  // Closed until it is known who speaks, and where.
  open(ready) {
    this.name();
    this.box.disabled = !ready;
    if (this.slash) this.slash.disabled = !ready;
  }

  // In the language of who speaks.
  name() {
    this.hint.textContent = t("hint");
    for (const [node, key] of [[this.button, "send"], [this.slash, "commands"]]) {
      node?.setAttribute?.("aria-label", t(key));
      node?.setAttribute?.("title", t(key));
    }
  }

  put(text) {
    this.box.value = text;
    this.box.focus();
    this.changed();
  }

  label(text) {
    this.box.placeholder = text;
    this.box.setAttribute("aria-label", text);
  }

  changed() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, 200)}px`;
    this.button.disabled = !this.box.value.trim();
    this.complete();
  }

  key(event) {
    if (event.isComposing) return;
    if (!this.popup.hidden) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        this.at = (this.at + step + this.options.length) % this.options.length;
        this.mark();
        return;
      }
      const whole = this.options[this.at]?.text.trim() === this.box.value.trim();
      if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && this.picked && !whole)) {
        event.preventDefault();
        this.take(this.at);
        return;
      }
      if (event.key === "Escape") {
        event.stopPropagation();
        this.popup.hidden = true;
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    }
  }

  async submit() {
    const text = this.box.value.trim();
    if (!text) return;
    this.box.value = "";
    this.popup.hidden = true;
    this.changed();
    this.popup.hidden = true;
    this.node.classList.add("busy");
    const taken = await this.onSend(text);
    this.node.classList.remove("busy");
    if (!taken && !this.box.value) {
      this.box.value = text;
      this.changed();
    }
  }

  complete() {
    const text = this.box.value;
    this.options = [];
    this.picked = false;
    if (this.withCommands && text.startsWith("/") && !text.includes("\n")) this.options = this.commandOptions(text);
    else {
      const name = /(^|\s)@([\w.-]*)$/.exec(text);
      if (name) this.options = this.nameOptions(text.slice(0, text.length - name[2].length - 1), name[2]);
    }
    this.at = 0;
    this.popup.hidden = this.options.length === 0;
    this.popup.replaceChildren(...this.options.map((option, n) => h("li", {
      role: "option", class: "popup-item", testid: "suggest", "aria-selected": n === 0 ? "true" : "false",
      onmousedown: (event) => { event.preventDefault(); this.take(n); },
    }, option.face || null, h("strong", {}, option.label), h("span", { class: "muted" }, option.about))));
  }

  commandOptions(text) {
    const options = text === "/" ? this.space.boot.shortcuts.filter((shortcut) => !shortcut.on_message).map((shortcut) => ({
      face: icon("bolt"), label: shortcut.label, about: t("shortcut"), text: "/", callback: shortcut.callback_id,
    })) : [];
    for (const command of this.space.boot.commands) {
      if (!command.name.startsWith(text.split(" ")[0])) continue;
      options.push({ label: command.name, about: command.about, text: `${command.name} ` });
      for (const example of command.examples) options.push({ label: example, about: "", text: example });
    }
    return options.filter((option) => option.text.startsWith(text) || option.text.trim() === text.trim()).slice(0, 8);
  }

  nameOptions(before, typed) {
    const wanted = typed.toLowerCase();
    const fits = (...words) => words.some((word) => word.toLowerCase().startsWith(wanted));
    const people = this.space.boot.people.filter((user) => fits(user.name, user.real_name));
    const groups = this.space.boot.groups.filter((group) => fits(group.handle));
    return [
      ...people.map((user) => ({ face: avatar(user, true), label: user.real_name, about: user.title, text: `${before}@${user.name} ` })),
      ...groups.map((group) => ({ label: `@${group.handle}`, about: t("group"), text: `${before}@${group.handle} ` })),
    ].slice(0, 8);
  }

  mark() {
    this.picked = true;
    [...this.popup.children].forEach((item, n) => item.setAttribute("aria-selected", n === this.at ? "true" : "false"));
    this.popup.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  take(n) {
    if (this.options[n].callback) {
      post("shortcut", { person: this.space.me, callback_id: this.options[n].callback });
      this.put("");
      return;
    }
    this.put(this.options[n].text);
    if (!this.box.value.endsWith(" ")) this.popup.hidden = true;
  }
}
