// Block Kit as elements. `context` says who looks and what to do:
// {names, press(action, values, node), root(): element that holds the inputs, errors}.

import { confirmFirst } from "./dialogs.js";
import { h, icon } from "./dom.js";
import { inputElement, valuesIn } from "./inputs.js";
import { mrkdwn, textObject } from "./mrkdwn.js";
import { t } from "./words.js";

export function renderBlocks(blocks, context) {
  return h("div", { class: "blocks" }, ...blocks.map((block) => renderBlock(block, context)));
}

function renderBlock(block, context) {
  const make = BLOCKS[block.type];
  const node = make ? make(block, context) : h("div", { class: "muted" }, `[${block.type}]`);
  node.dataset.blockId = block.block_id;
  return node;
}

const BLOCKS = {
  section(block, context) {
    const body = h("div", { class: "section-body" });
    if (block.text) body.append(h("div", { class: "section-text" }, textObject(block.text, context.names)));
    if (block.fields) {
      const fields = block.fields.map((field) => h("div", { class: "field" }, textObject(field, context.names)));
      body.append(h("div", { class: "fields" }, ...fields));
    }
    const node = h("div", { class: "block block-section" }, body);
    if (block.accessory) node.append(h("div", { class: "accessory" }, element(block, block.accessory, context)));
    return node;
  },
  header: (block, context) => h("h3", { class: "block block-header" }, textObject(block.text, context.names)),
  divider: () => h("hr", { class: "block block-divider" }),
  context(block, context) {
    const parts = block.elements.map((part) => (part.type === "image"
      ? h("img", { class: "context-image", src: part.image_url, alt: part.alt_text })
      : h("span", { class: "context-text" }, textObject(part, context.names))));
    return h("div", { class: "block block-context" }, ...parts);
  },
  actions: (block, context) =>
    h("div", { class: "block block-actions" }, ...block.elements.map((part) => element(block, part, context))),
  image(block, context) {
    const picture = h("img", { src: block.image_url || block.slack_file?.url, alt: block.alt_text });
    return h("figure", { class: "block block-image" },
      block.title && h("figcaption", {}, textObject(block.title, context.names)), picture);
  },
  input(block, context) {
    const error = context.errors?.[block.block_id];
    const id = `input-${block.block_id}`;
    const control = inputElement(block, block.element, context, id);
    const choice = ["checkboxes", "radio_buttons"].includes(block.element.type);
    const label = h(choice ? "div" : "label", { class: "input-label", for: choice ? null : id, id: `${id}-label` },
      textObject(block.label, context.names), block.optional && h("span", { class: "muted" }, ` ${t("optional")}`));
    const node = h("div", { class: "block block-input", testid: "input", "data-input-block": block.block_id },
      label, control,
      block.hint && h("div", { class: "input-hint" }, textObject(block.hint, context.names)),
      h("div", { class: "input-error", role: "alert", testid: "input-error" }, error || ""));
    if (error) node.classList.add("has-error");
    return node;
  },
  rich_text: (block, context) => h("div", { class: "block" }, ...block.elements.map((part) => rich(part, context))),
};

function rich(part, context) {
  const inner = () => (part.elements || []).map((each) => rich(each, context));
  switch (part.type) {
    case "rich_text_section": return h("div", {}, ...inner());
    case "rich_text_preformatted": return h("pre", {}, ...inner());
    case "rich_text_quote": return h("blockquote", {}, ...inner());
    case "rich_text_list":
      return h(part.style === "ordered" ? "ol" : "ul", {}, ...inner().map((item) => h("li", {}, item)));
    case "user": return mrkdwn(`<@${part.user_id}>`, context.names);
    case "channel": return mrkdwn(`<#${part.channel_id}>`, context.names);
    case "usergroup": return mrkdwn(`<!subteam^${part.usergroup_id}>`, context.names);
    case "emoji": return mrkdwn(`:${part.name}:`, context.names);
    case "date": return mrkdwn(`<!date^${part.timestamp}^${part.format}|${part.fallback || ""}>`, context.names);
    case "link": return mrkdwn(`<${part.url}|${part.text || part.url}>`, context.names);
    default: {
      const tag = part.style?.code ? "code" : part.style?.bold ? "strong" : part.style?.italic ? "em"
        : part.style?.strike ? "s" : "span";
      return h(tag, {}, part.text || "");
    }
  }
}

function element(block, part, context) {
  if (part.type === "image") return h("img", { class: "accessory-image", src: part.image_url, alt: part.alt_text });
  if (part.type === "button") return button(block, part, context);
  if (part.type === "overflow") return overflow(block, part, context);
  return inputElement(block, part, context, `action-${block.block_id}-${part.action_id}`, (value) =>
    press(block, part, value, context));
}

function press(block, part, value, context, node = null) {
  const go = () => context.press(
    { block_id: block.block_id, action_id: part.action_id, type: part.type, ...value },
    valuesIn(context.root()), node);
  return part.confirm ? confirmFirst(part.confirm, context.names, go) : go();
}

function button(block, part, context) {
  const style = part.style ? ` button-${part.style}` : "";
  const node = h("button", {
    type: "button", class: `button${style}`, testid: "action", "data-action-id": part.action_id,
    "aria-label": part.accessibility_label,
    onclick: () => {
      if (part.url) window.open(part.url, "_blank", "noopener,noreferrer");
      press(block, part, { value: part.value }, context, node);
    },
  }, textObject(part.text, context.names));
  return node;
}

function overflow(block, part, context) {
  const menu = h("div", { class: "menu", role: "menu", hidden: true });
  const toggle = h("button", {
    type: "button", class: "button button-overflow", "aria-label": t("more"), "aria-haspopup": "menu",
    testid: "overflow", "data-action-id": part.action_id,
    onclick: () => {
      menu.hidden = !menu.hidden;
      if (!menu.hidden) menu.firstElementChild.focus();
    },
  }, icon("dots"));
  const shut = () => { menu.hidden = true; };
  menu.append(...part.options.map((option) => h("button", {
    type: "button", class: "menu-item", role: "menuitem", testid: "overflow-option",
    onclick: () => { shut(); press(block, part, { selected_option: option }, context, toggle); },
  }, textObject(option.text, context.names))));
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.children];
    const at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); items.at((at + step) % items.length).focus(); }
    if (event.key === "Escape") { event.stopPropagation(); shut(); toggle.focus(); }
  });
  const box = h("div", { class: "overflow" }, toggle, menu);
  box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) shut(); });
  return box;
}
