// Elements that hold a value, and reading all values below an element by block and action id.

import { h } from "./dom.js";
import { textObject } from "./mrkdwn.js";
import { t } from "./words.js";

const plain = (text) => text?.text || "";
const allOptions = (part) => part.options || (part.option_groups || []).flatMap((group) => group.options);

// The state of each element: node -> () => value, by Slack's names.
const readers = new WeakMap();

function holds(node, block, part, read) {
  node.dataset.holds = "";
  node.dataset.actionId = part.action_id;
  readers.set(node, () => [block.block_id, part.action_id, { type: part.type, ...read() }]);
  return node;
}

export function valuesIn(root) {
  const values = {};
  for (const node of root?.querySelectorAll("[data-holds]") || []) {
    const [block, action, value] = readers.get(node)();
    (values[block] ||= {})[action] = value;
  }
  return values;
}

export function inputElement(block, part, context, id, onPick = null) {
  const make = {
    plain_text_input: textInput, number_input: numberInput, email_text_input: emailInput,
    static_select: select, external_select: externalSelect, users_select: userSelect, multi_static_select: choices, checkboxes: choices,
    radio_buttons: choices, datepicker: dateInput, timepicker: timeInput,
  }[part.type];
  return make ? make(block, part, context, id, onPick) : h("span", { class: "muted" }, `[${part.type}]`);
}

function textInput(block, part, context, id) {
  const node = h(part.multiline ? "textarea" : "input", {
    id, class: "control", placeholder: plain(part.placeholder), value: part.initial_value || "",
    maxlength: part.max_length, rows: part.multiline ? 4 : null, autocomplete: "off",
    autofocus: part.focus_on_load, testid: `field-${part.action_id}`,
  });
  return holds(node, block, part, () => ({ value: node.value || null }));
}

function numberInput(block, part, context, id) {
  const node = h("input", {
    id, class: "control", inputmode: part.is_decimal_allowed ? "decimal" : "numeric", autocomplete: "off",
    placeholder: plain(part.placeholder), value: part.initial_value || "", testid: `field-${part.action_id}`,
  });
  return holds(node, block, part, () => ({ value: node.value.trim() || null }));
}

function emailInput(block, part, context, id) {
  const node = h("input", { id, class: "control", type: "email", value: part.initial_value || "",
    testid: `field-${part.action_id}` });
  return holds(node, block, part, () => ({ value: node.value || null }));
}

function picker(type, key, initial) {
  return (block, part, context, id, onPick) => {
    const node = h("input", { id, class: "control", type, value: part[initial] || "", testid: `field-${part.action_id}` });
    const read = () => ({ [key]: node.value || null });
    if (onPick) node.addEventListener("change", () => onPick(read()));
    return holds(node, block, part, read);
  };
}
const dateInput = picker("date", "selected_date", "initial_date");
const timeInput = picker("time", "selected_time", "initial_time");

function select(block, part, context, id, onPick) {
  const options = allOptions(part);
  const option = (item) => h("option", { value: String(options.indexOf(item)) }, plain(item.text));
  const node = h("select", { id, class: "control control-select", testid: `field-${part.action_id}`,
    "aria-label": onPick ? plain(part.placeholder) || "Choose" : null },
    h("option", { value: "" }, plain(part.placeholder) || t("chooseOption")),
    ...(part.options ? part.options.map(option) : part.option_groups.map((group) =>
      h("optgroup", { label: plain(group.label) }, ...group.options.map(option)))));
  const initial = options.findIndex((item) => item.value === part.initial_option?.value);
  node.value = initial < 0 ? "" : String(initial);
  const read = () => ({ selected_option: node.value === "" ? null : options[Number(node.value)] });
  if (onPick) node.addEventListener("change", () => node.value !== "" && onPick(read()));
  return holds(node, block, part, read);
}

// Options come from the app while somebody types; what is chosen is one of those it offered.
function externalSelect(block, part, context, id) {
  const offered = new Map();
  const list = h("datalist", { id: `${id}-options` });
  const node = h("input", { id, class: "control", list: `${id}-options`, autocomplete: "off",
    placeholder: plain(part.placeholder), value: plain(part.initial_option?.text),
    testid: `field-${part.action_id}` });
  if (part.initial_option) offered.set(plain(part.initial_option.text), part.initial_option);
  node.addEventListener("input", async () => {
    const typed = node.value;
    if (offered.has(typed) || !context.suggest) return;
    const options = await context.suggest(block, part, typed);
    for (const option of options) offered.set(plain(option.text), option);
    if (node.value === typed) list.replaceChildren(...options.map((option) => h("option", { value: plain(option.text) })));
  });
  const box = h("div", {}, node, list);
  return holds(box, block, part, () => ({ selected_option: offered.get(node.value) || null }));
}

function userSelect(block, part, context, id, onPick) {
  const node = h("select", { id, class: "control control-select", testid: `field-${part.action_id}` },
    h("option", { value: "" }, plain(part.placeholder) || t("choosePerson")),
    ...context.names.people().map((user) => h("option", { value: user.id }, user.real_name)));
  node.value = part.initial_user || "";
  const read = () => ({ selected_user: node.value || null });
  if (onPick) node.addEventListener("change", () => onPick(read()));
  return holds(node, block, part, read);
}

function choices(block, part, context, id, onPick) {
  const many = part.type !== "radio_buttons";
  const options = allOptions(part);
  const chosen = new Set([...(part.initial_options || []), part.initial_option].filter(Boolean).map((o) => o.value));
  const boxes = options.map((option, n) => h("input", {
    type: many ? "checkbox" : "radio", name: id, id: `${id}-${n}`, checked: chosen.has(option.value),
  }));
  const rows = options.map((option, n) => h("label", { class: "choice", for: `${id}-${n}` }, boxes[n],
    h("span", {}, textObject(option.text, context.names),
      option.description && h("span", { class: "choice-about" }, textObject(option.description, context.names)))));
  const node = h("div", { class: "choices", role: many ? "group" : "radiogroup", "aria-labelledby": `${id}-label`,
    testid: `field-${part.action_id}` }, ...rows);
  const read = () => {
    const picked = options.filter((_, n) => boxes[n].checked);
    return many ? { selected_options: picked } : { selected_option: picked[0] || null };
  };
  if (onPick) node.addEventListener("change", () => onPick(read()));
  return holds(node, block, part, read);
}
