// Talking to the server: requests, and one socket for everything that happens.

import { t } from "./words.js";

export async function get(path, query = {}) {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`);
  return answer.json();
}

export async function post(verb, body) {
  try {
    const answer = await fetch(`/page/${verb}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return await answer.json();
  } catch {
    return { ok: false, error: "unreachable" };
  }
}

// Calls `onEvent` for each update and `onLink(up)` when the link comes or goes.
export function connect(person, onEvent, onLink) {
  let stopped = false;
  let socket = null;
  let wait = 250;
  const open = () => {
    if (stopped) return;
    socket = new WebSocket(`ws://${location.host}/page/socket?person=${encodeURIComponent(person)}`);
    socket.onopen = () => {
      wait = 250;
      onLink(true);
    };
    socket.onmessage = (message) => {
      if (!stopped) onEvent(JSON.parse(message.data));
    };
    socket.onclose = () => {
      if (stopped) return;
      onLink(false);
      setTimeout(open, wait);
      wait = Math.min(wait * 2, 4000);
    };
  };
  open();
  return () => {
    stopped = true;
    socket?.close();
  };
}

const CODES = ["operation_timeout", "dispatch_failed", "unreachable", "message_not_found", "is_archived"];

export function explain(code) {
  return CODES.includes(code) ? t(code) : t("failed", { code });
}
