// What a newcomer can try, one click each. Once a person has said anything, it is one line.

import { get } from "./api.js";
import { h, icon } from "./dom.js";
import { t } from "./words.js";

export function welcome(space, run) {
  const { suggestions } = space.boot;
  if (!suggestions.length) return null;
  const key = `gpubot.welcome.folded.${space.me}`;
  const first = space.names.user(space.me).real_name.split(" ")[0];
  const count = suggestions.length;
  const things = count === 1 ? t("tryOne") : t("try", { count: t("numbers").split(",")[count] || count });
  const box = h("section", { class: "welcome", testid: "welcome", "aria-label": t("tries") });
  const cards = h("div", { class: "tries" }, ...suggestions.map((suggestion, n) => h("button", {
    type: "button", class: "try", testid: `suggestion-${n}`,
    onclick: async () => {
      show(true);
      run(await filled(space, suggestion));
    },
  }, h("span", { class: "try-label" }, suggestion.label),
  h("span", { class: "try-about" }, suggestion.about),
  h("code", {}, suggestion.command.replace("{last}", "…")))));
  const open = h("button", { type: "button", class: "try-open", testid: "welcome-open", "aria-expanded": "false",
    onclick: () => show(false) }, icon("spark"), `${things} ▸`);
  const head = h("div", { class: "welcome-head" }, icon("spark"),
    h("span", {}, h("strong", {}, t("hello", { name: first })), ` ${t("tryThese")}`, h("span", { class: "welcome-more" }, `${t("orAsk")} `, h("code", {}, "/gpu help")), t("stop")),
    h("button", { type: "button", class: "icon-button", "aria-label": t("fold"), title: t("fold"), testid: "welcome-close", onclick: () => show(true) }, icon("close")));
  const show = (folded) => {
    localStorage.setItem(key, folded ? "1" : "");
    box.classList.toggle("closed", folded);
    box.replaceChildren(...(folded ? [open] : [head, cards]));
  };
  box.fold = () => show(true);
  show(localStorage.getItem(key) === "1");
  return box;
}

async function filled(space, suggestion) {
  if (!suggestion.command.includes("{last}")) return suggestion.command;
  const { last } = await get("/page/last", { person: space.me });
  return last ? suggestion.command.replace("{last}", last) : suggestion.fallback;
}
