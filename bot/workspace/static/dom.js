// Building elements. Text always goes in as text nodes; nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name === "testid") node.dataset.testid = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...present(children));
  return node;
}

// What is really there among optional children.
export function present(children) {
  return children.flat().filter((child) => child !== null && child !== undefined && child !== false);
}

const PATHS = {
  hash: "M9 4 7 20M17 4l-2 16M4 9h17M3 15h17",
  menu: "M4 6h16M4 12h16M4 18h16",
  close: "M6 6l12 12M18 6 6 18",
  send: "M4 12 21 4l-5 16-4-7zM12 13l9-9",
  reply: "M21 12a8 8 0 0 1-8 8H4l2-3a8 8 0 1 1 15-5z",
  eye: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  down: "M6 9l6 6 6-6",
  check: "M5 12l5 5L20 7",
  dots: "M5 12h.01M12 12h.01M19 12h.01",
  home: "M3 11l9-8 9 8M6 9v11h12V9",
  chat: "M4 5h16v11H9l-5 4z",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2",
  bolt: "M13 2 5 14h6l-1 8 8-12h-6z",
  spark: "M12 3l2 6 6 2-6 2-2 6-2-6-6-2 6-2z",
  file: "M6 3h8l4 4v14H6zM14 3v5h4",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

const HUES = [262, 12, 200, 150, 330, 40, 230, 100];

export function avatar(user, small = false) {
  const size = small ? "avatar avatar-small" : "avatar";
  if (user?.is_bot) return h("span", { class: `${size} avatar-bot`, "aria-hidden": "true" });
  const name = user?.real_name || "?";
  const initials = name.split(/\s+/).map((word) => word[0]).slice(0, 2).join("").toUpperCase();
  const node = h("span", { class: size, "aria-hidden": "true" }, initials);
  node.style.setProperty("--hue", HUES[(user?.tint || 0) % HUES.length]);
  return node;
}

export function toast(text, kind = "info") {
  const node = h("div", { class: `toast toast-${kind}`, testid: "toast" }, text);
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), 6000);
}
