// The short codes that are likely in a channel about GPUs; others stay as they were typed.

export const EMOJI = {
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", no_entry: "⛔",
  hourglass: "⌛", hourglass_flowing_sand: "⏳", rocket: "🚀", tada: "🎉", eyes: "👀",
  wave: "👋", thumbsup: "👍", "+1": "👍", thumbsdown: "👎", "-1": "👎", fire: "🔥",
  rotating_light: "🚨", bell: "🔔", no_bell: "🔕", zzz: "💤", moon: "🌙", sunny: "☀️",
  large_green_circle: "🟢", large_yellow_circle: "🟡", large_orange_circle: "🟠",
  red_circle: "🔴", white_circle: "⚪", large_blue_circle: "🔵", black_circle: "⚫",
  arrow_up: "⬆️", arrow_down: "⬇️", arrow_right: "➡️", arrows_counterclockwise: "🔄",
  clock1: "🕐", stopwatch: "⏱️", alarm_clock: "⏰", calendar: "📅", chart_with_upwards_trend: "📈",
  bar_chart: "📊", lock: "🔒", unlock: "🔓", key: "🔑", bulb: "💡", memo: "📝", link: "🔗",
  pray: "🙏", heart: "❤️", smile: "😄", slightly_smiling_face: "🙂", thinking_face: "🤔",
  robot_face: "🤖", computer: "💻", zap: "⚡", star: "⭐", scales: "⚖️", balance_scale: "⚖️",
  octagonal_sign: "🛑", black_square_for_stop: "⏹️", arrow_forward: "▶️", double_vertical_bar: "⏸️",
  speech_balloon: "💬", information_source: "ℹ️", question: "❓", exclamation: "❗",
};
