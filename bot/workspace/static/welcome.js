// What a newcomer can try, one click each.

import { get } from "./api.js";
import { h, icon } from "./dom.js";

const KEY = "gpubot.welcome.closed";

export function welcome(space, run) {
  const { suggestions } = space.boot;
  if (!suggestions.length) return null;
  const cards = h("div", { class: "tries" }, ...suggestions.map((suggestion, n) => h("button", {
    type: "button", class: "try", testid: `suggestion-${n}`,
    onclick: async () => {
      box.classList.add("tried");
      run(await filled(space, suggestion));
    },
  }, h("span", { class: "try-label" }, suggestion.label),
  h("span", { class: "try-about" }, suggestion.about),
  h("code", {}, suggestion.command.replace("{last}", "…")))));
  const box = h("section", { class: "welcome", testid: "welcome", "aria-label": "Things to try" });
  const show = (closed) => {
    localStorage.setItem(KEY, closed ? "1" : "");
    box.classList.toggle("closed", closed);
    box.replaceChildren(...(closed
      ? [h("button", { type: "button", class: "try-open", testid: "welcome-open", onclick: () => show(false) }, icon("spark"), "Things to try")]
      : [h("div", { class: "welcome-head" }, icon("spark"),
        h("span", {}, h("strong", {}, `New here, ${space.names.user(space.me).real_name.split(" ")[0]}?`), " Try one of these", h("span", { class: "welcome-more" }, ", or ask in your own words with ", h("code", {}, "/gpu help")), "."),
        h("button", { type: "button", class: "icon-button", "aria-label": "Hide", title: "Hide", testid: "welcome-close", onclick: () => show(true) }, icon("close"))),
      cards]));
  };
  show(localStorage.getItem(KEY) === "1");
  return box;
}

async function filled(space, suggestion) {
  if (!suggestion.command.includes("{last}")) return suggestion.command;
  const { last } = await get("/page/last", { person: space.me });
  return last ? suggestion.command.replace("{last}", last) : suggestion.fallback;
}
