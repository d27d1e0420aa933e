// What the page itself says, in the language of whoever is at it: that of their profile.

const WORDS = {
  en: {
    title: "gpubot · local workspace", workspace: "local workspace", channels: "Channels", direct: "Direct messages",
    apps: "Apps", home: "{app} Home", online: "gpubot is online", offline: "gpubot is offline", unread: "{count} unread",
    places: "Channels and people", thread: "Thread", closeThread: "Close thread", reply: "Reply…", send: "Send",
    be: "Be somebody else:", youAre: "You are", switchPerson: "Switch person", commands: "Commands", shortcut: "shortcut",
    group: "user group", hint: "Enter sends · Shift+Enter for a new line", message: "Message",
    messageTo: "Message {where}", tabHome: "Home", tabMessages: "Messages", messages: "Messages", clock: "Time on the cluster",
    pace: "{time}, {speed}× speed", connecting: "Connecting to the workspace…",
    away: "gpubot is offline or still connecting. What you write is kept, commands will fail.",
    opening: "Opening your Home…", homeAway: "gpubot is offline; Home appears when it is back.",
    beginning: "This is the very beginning. {about}", earlier: "Show earlier messages", fresh: "New", sent: "You sent",
    onlyYou: "Only visible to you", broadcast: "replied to a thread", edited: "(edited)", oneReply: "1 reply",
    replies: "{count} replies", lastReply: "Last reply {when}", replyIn: "Reply in thread", download: "Download {name}",
    soon: "in a moment", now: "just now", someone: "Workspace",
    tries: "Things to try", try: "{count} things to try", tryOne: "One thing to try", hello: "New here, {name}?",
    tryThese: "Try one of these", orAsk: ", or ask in your own words with", fold: "Fold", stop: ".",
    sure: "Are you sure?", yes: "Yes", cancel: "Cancel", back: "Back", close: "Close", more: "More actions",
    optional: "(optional)", choosePerson: "Choose a person", chooseOption: "Choose an option",
    operation_timeout: "Timed out: gpubot did not answer within 3 seconds. You can try again.",
    dispatch_failed: "gpubot is offline, so nothing was sent. Try again in a moment.",
    unreachable: "The workspace server does not answer. Is it still running?", message_not_found: "That message is gone.",
    is_archived: "This channel is archived.", failed: "That did not work ({code}).",
    numbers: "No,One,Two,Three,Four,Five,Six,Seven,Eight,Nine",
  },
  zh: {
    title: "gpubot · 本地工作区", workspace: "本地工作区", channels: "频道", direct: "私信",
    apps: "应用", home: "{app} 主页", online: "gpubot 在线", offline: "gpubot 离线", unread: "{count} 条未读",
    places: "频道和人员", thread: "消息列", closeThread: "关闭消息列", reply: "回复…", send: "发送",
    be: "换一个人：", youAre: "你是", switchPerson: "换人", commands: "命令", shortcut: "快捷方式",
    group: "用户组", hint: "回车发送 · Shift+回车换行", message: "消息",
    messageTo: "发消息到 {where}", tabHome: "主页", tabMessages: "消息", messages: "消息", clock: "集群上的时间",
    pace: "{time}，{speed} 倍速", connecting: "正在连接工作区…",
    away: "gpubot 离线或仍在连接。你写的会保留，命令会失败。",
    opening: "正在打开你的主页…", homeAway: "gpubot 离线；恢复后会显示主页。",
    beginning: "这是最开头。{about}", earlier: "显示更早的消息", fresh: "新消息", sent: "你发送了",
    onlyYou: "仅你可见", broadcast: "回复了消息列", edited: "（已编辑）", oneReply: "1 条回复",
    replies: "{count} 条回复", lastReply: "最后回复：{when}", replyIn: "在消息列中回复", download: "下载 {name}",
    soon: "马上", now: "刚刚", someone: "工作区",
    tries: "可以试试", try: "可以试试的 {count} 件事", tryOne: "可以试试的 1 件事", hello: "{name}，第一次来？",
    tryThese: "试试下面这些", orAsk: "，或者用自己的话来问：", fold: "收起", stop: "。",
    sure: "确定吗？", yes: "是", cancel: "取消", back: "返回", close: "关闭", more: "更多操作",
    optional: "（选填）", choosePerson: "选择人员", chooseOption: "请选择",
    operation_timeout: "超时：gpubot 3 秒内没有回应，可以再试一次。",
    dispatch_failed: "gpubot 离线，什么都没有发出。请稍后再试。",
    unreachable: "工作区服务器没有回应。它还在运行吗？", message_not_found: "这条消息已经不在了。",
    is_archived: "这个频道已归档。", failed: "没有成功（{code}）。",
    numbers: "0,1,2,3,4,5,6,7,8,9",
  },
};

let words = WORDS.en;

// `locale` is that of the person at the page, such as "zh-CN".
export function speak(locale) {
  const language = locale?.startsWith("zh") ? "zh" : "en";
  words = WORDS[language];
  document.documentElement.lang = language;
}

export function t(key, values = {}) {
  return words[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const knows = (key) => key in words;
