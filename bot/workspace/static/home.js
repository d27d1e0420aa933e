// The app's Home tab.

import { explain, post } from "./api.js";
import { renderBlocks } from "./blocks.js";
import { avatar, h, toast } from "./dom.js";
import { t } from "./words.js";

export function renderHome(root, space) {
  const view = space.home;
  const body = h("div", { class: "home-body", testid: "home" });
  if (view) {
    body.append(renderBlocks(view.blocks, {
      names: space.names, root: () => body,
      press: async (action, values, node) => {
        if (node) node.disabled = true;
        const answer = await post("press", { person: space.me, view_id: view.id, action, values });
        if (node) node.disabled = false;
        if (answer.error) toast(explain(answer.error), "error");
      },
    }));
  } else {
    const bot = space.names.user(space.boot.app.user_id);
    body.append(h("div", { class: "home-empty" }, avatar(bot), h("p", {}, space.boot.app.about),
      h("p", { class: "muted" }, t(space.boot.connections ? "opening" : "homeAway"))));
  }
  root.replaceChildren(body);
}
