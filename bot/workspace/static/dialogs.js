// Confirm dialogs and modals, as native dialogs: focus stays inside, Escape closes.

import { explain, post } from "./api.js";
import { renderBlocks } from "./blocks.js";
import { h, icon, toast } from "./dom.js";
import { valuesIn } from "./inputs.js";
import { textObject } from "./mrkdwn.js";
import { t } from "./words.js";

export function confirmFirst(confirm, names, go) {
  const close = () => { dialog.close(); dialog.remove(); };
  const danger = confirm.style === "danger" ? "button-danger" : "button-primary";
  const dialog = h("dialog", { class: "dialog dialog-confirm", testid: "confirm", "aria-labelledby": "confirm-title" },
    h("h2", { id: "confirm-title" }, textObject(confirm.title || { text: t("sure") }, names)),
    h("div", { class: "dialog-body" }, textObject(confirm.text || { text: "" }, names)),
    h("div", { class: "dialog-foot" },
      h("button", { type: "button", class: "button", testid: "confirm-cancel", onclick: close },
        textObject(confirm.deny || { text: t("cancel") }, names)),
      h("button", { type: "button", class: `button ${danger}`, testid: "confirm-ok", onclick: () => { close(); go(); } },
        textObject(confirm.confirm || { text: t("yes") }, names))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Shows the topmost of a person's open modals. `space` gives {me, names}.
export class Modals {
  constructor(space) {
    this.space = space;
    this.dialog = null;
    this.shown = null;
  }

  show(stack) {
    const view = stack.at(-1);
    if (!view) return this.hide();
    if (this.shown?.id === view.id && this.shown.hash === view.hash) return undefined;
    const kept = this.shown?.id === view.id ? typed(this.dialog) : new Map();
    this.hide();
    this.shown = view;
    this.dialog = this.build(view, stack.length);
    retype(this.dialog, kept);
    document.body.append(this.dialog);
    this.dialog.showModal();
    focusFirst(this.dialog);
    return undefined;
  }

  hide() {
    this.dialog?.remove();
    this.dialog = this.shown = null;
  }

  build(view, depth) {
    const names = this.space.names;
    const body = h("div", { class: "dialog-body modal-body" });
    const context = {
      names, root: () => body,
      press: (action, values, node) => this.press(view, action, values, node),
      suggest: async (block, part, typed) => {
        const place = { view_id: view.id, block_id: block.block_id, action_id: part.action_id };
        const answer = await post("suggest", { person: this.space.me, ...place, value: typed });
        return answer.options || [];
      },
    };
    body.append(renderBlocks(view.blocks, context));
    const problem = h("div", { class: "dialog-problem", role: "alert", testid: "modal-problem" });
    const close = () => this.close(view);
    const submit = view.submit && h("button", { type: "submit", class: "button button-primary", testid: "modal-submit" },
      textObject(view.submit, names));
    const form = h("form", { class: "modal-form", novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      this.submit(view, body, submit, problem);
    } },
      h("header", { class: "dialog-head" }, h("h2", { id: "modal-title" }, textObject(view.title, names)),
        h("button", { type: "button", class: "icon-button", "aria-label": t("close"), testid: "modal-close", onclick: close },
          icon("close"))),
      body, problem,
      h("div", { class: "dialog-foot" },
        h("button", { type: "button", class: "button", testid: "modal-cancel", onclick: close },
          textObject(view.close || { text: t(depth > 1 ? "back" : "cancel") }, names)),
        submit));
    const dialog = h("dialog", { class: "dialog dialog-modal", testid: "modal", "aria-labelledby": "modal-title" }, form);
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); close(); });
    return dialog;
  }

  async press(view, action, values, node) {
    if (node) node.disabled = true;
    const answer = await post("press", { person: this.space.me, view_id: view.id, action, values });
    if (node) node.disabled = false;
    if (answer.error) toast(explain(answer.error), "error");
  }

  async submit(view, body, button, problem) {
    if (!button || button.disabled) return;
    button.disabled = true;
    button.classList.add("busy");
    const answer = await post("submit", { person: this.space.me, view_id: view.id, values: valuesIn(body) });
    button.disabled = false;
    button.classList.remove("busy");
    problem.textContent = answer.error ? explain(answer.error) : "";
    showErrors(body, answer.errors || {});
  }

  close(view) {
    this.hide();
    return post("close", { person: this.space.me, view_id: view.id, clear: Boolean(view.clear_on_close) });
  }
}

// Into the form, however it came to be open: by itself a dialog begins with its first button, the
// one that closes it.
function focusFirst(dialog) {
  const fields = "input, select, textarea";
  (dialog.querySelector("[autofocus]") || dialog.querySelector(`.modal-body :is(${fields})`))?.focus();
}

// What a person typed survives an update of the modal, as long as the block keeps its ids.
const place = (node) => `${node.closest("[data-block-id]")?.dataset.blockId}/${node.dataset.actionId}`;
const boxesOf = (node) => [...node.querySelectorAll("input")];

function typed(dialog) {
  const kept = new Map();
  for (const node of dialog.querySelectorAll("[data-holds]")) {
    kept.set(place(node), node.matches(".choices") ? boxesOf(node).map((box) => box.checked) : node.value);
  }
  return kept;
}

function retype(dialog, kept) {
  for (const node of dialog.querySelectorAll("[data-holds]")) {
    const value = kept.get(place(node));
    if (value === undefined) continue;
    if (Array.isArray(value)) boxesOf(node).forEach((box, n) => { box.checked = value[n] ?? box.checked; });
    else node.value = value;
  }
}

function showErrors(body, errors) {
  let first = null;
  for (const block of body.querySelectorAll("[data-input-block]")) {
    const error = errors[block.dataset.inputBlock] || "";
    block.querySelector(".input-error").textContent = error;
    block.classList.toggle("has-error", Boolean(error));
    if (error) first ||= block;
  }
  first?.querySelector("input, select, textarea")?.focus();
  first?.scrollIntoView({ block: "nearest" });
}
