"""The form and the App Home in Chinese: short labels, plain text."""

from __future__ import annotations

from dataclasses import replace

from bot.chat.grammar import GrammarError
from bot.chat.markup import Markup, join, literal, plain, say
from bot.chat.words.chinese.mistakes import Mistakes
from bot.chat.words.chinese.standing import Standing
from bot.overview import ClusterView, GangView, PoolView
from bot.views import Refused, TeamShare, Verb


class Forms(Standing, Mistakes):
    """Labels, hints and headings."""

    form_title = "申请 GPU"
    form_edit_title = "修改请求"
    button_edit = "修改"
    form_submit = "提交"
    form_close = "先不用"
    form_size = "要多少卡"
    form_size_hint = "16、4x8（pod 数 x 每个卡数）或 2 节点"
    form_model = "GPU 型号"
    form_lease = "用多久"
    form_lease_hint = "8小时、90分钟 或 2天"
    form_team = "记在哪个团队"
    form_priority = "优先级"
    form_spend = "花费"
    form_spend_low = "低：用集群自有的 GPU"
    form_spend_high = "高：按需购买的 GPU"
    form_preemptible = "可抢占"
    form_preemptible_no = "否：启动后一直保留"
    form_preemptible_yes = "是：可能被停下重新排队，往往启动更早"
    form_topology = "放置"
    form_topology_any = "不限：怎么合适怎么放"
    form_topology_spread = "分散：任意节点"
    form_minimum = "至少"
    form_minimum_hint = "可以接受的最小规模，单位同上"
    form_provision = "节点类型"
    form_provision_any = "不限"
    form_name = "名称"
    form_name_hint = "方便你和别人认出它"
    button_why = "为什么？"
    button_cancel = "取消请求"
    button_release = "释放"
    button_refresh = "刷新"
    button_request = "申请 GPU"
    button_previous = "上一页"
    button_next = "下一页"
    confirm_keep = "保留"
    home_title = "你的 GPU"
    home_teams = "你的团队"
    home_cluster = "集群"

    def form_error(self, wrong: GrammarError) -> str:
        """An error under its field: plain text, no markup."""
        return _plain(self.mistake(wrong))

    def form_refused(self, refused: Refused) -> str:
        """A refusal under its field; the form itself is what can be tried instead."""
        return _plain(self.refused(replace(refused, instead=None)))

    def form_topology_level(self, said: str) -> str:
        """`同一机架，放不下就等` and `尽量同一机架，放得下才用`."""
        rest = "放不下就等" if said.startswith("same") else "放得下才用"
        return f"{self.topology(said)}，{rest}"

    def provision_word(self, provision: str) -> str:
        """How nodes are had, as people say it."""
        return self.provision(provision)

    def confirm_cancel_title(self, request: str) -> str:
        """Asks before a request is cancelled."""
        return f"取消 {request}？"

    def confirm_cancel(self, gpus: int) -> str:
        """What cancelling a waiting request means."""
        return f"它在排队等 {self.gpus(gpus)}。取消后排队位置不再保留。"

    def confirm_stop_title(self, verb: Verb, request: str) -> str:
        """Asks before something running is stopped."""
        word = "释放" if verb is Verb.RELEASING else "取消"
        return f"{word} {request}？"

    def stop_label(self, verb: Verb) -> str:
        """What the button says that stops something running."""
        return self.button_release if verb is Verb.RELEASING else self.button_cancel

    def confirm_stop(self, *, gpus: int, nodes: int) -> str:
        """What is stopped by it."""
        where = f"（{self.count(nodes, '个节点')}）" if nodes else ""
        return (
            f"它在 {self.gpus(gpus)}{where}上运行的一切都会停止，卡随即归还。未保存的内容会丢失。"
        )

    def cluster(self, cluster: ClusterView) -> Markup:
        """The cluster in two sentences."""
        lines = say(
            "{gpus}中已用 {used:,}，空闲 {free:,}，共 {nodes}；{running}在运行，{pending}在排队。",
            used=cluster.used,
            gpus=self.gpus(cluster.gpus),
            free=cluster.free,
            nodes=self.count(cluster.nodes, "个节点"),
            running=self.count(cluster.running, "个请求"),
            pending=self.count(cluster.pending, "个"),
        )
        room = say("整机空闲 {whole}", whole=self.count(cluster.whole_free_nodes, "个节点"))
        if cluster.gangs:
            gangs = self._or([self._gang(gang) for gang in cluster.gangs])
            room = say("{room}：现在放得下的最大整组是 {gangs}。", room=room, gangs=gangs)
        else:
            room = say("{room}。", room=room)
        stranded, unready = Markup(), Markup()
        if cluster.stranded:
            stranded = say("{gpus}是部分占用节点上的碎片。", gpus=self.gpus(cluster.stranded))
        if cluster.unready_nodes:
            unready = say("{nodes}未就绪。", nodes=self.count(cluster.unready_nodes, "个节点"))
        return Markup(lines + room + stranded + unready)

    def _or(self, items: list[Markup]) -> Markup:
        return join("，或 ", items)

    def _gang(self, gang: GangView) -> Markup:
        kind = " ".join(filter(None, (self.provision(gang.provision), gang.model)))
        text = "{gpus}{kind}" if kind else "{gpus}"
        return say(text, gpus=self.gpus(gang.gpus), kind=kind)

    def pool(self, pool: PoolView) -> Markup:
        """One pool in a line."""
        quota = f" / {pool.nominal:,}" if pool.nominal else ""
        borrowed = f"（借用 {pool.borrowed:,}）" if pool.borrowed else ""
        return say(
            "• *{pool}* 已用 {used:,}{quota} 卡{borrowed} · {running:,} 个在运行 · {waiting}",
            pool=pool.pool,
            used=pool.used,
            quota=quota,
            borrowed=borrowed,
            running=pool.running,
            waiting=say(
                "{pending:,} 个在排队，共需 {wanted:,} 卡",
                pending=pool.pending,
                wanted=pool.pending_gpus,
            )
            if pool.pending
            else "无人排队",
        )

    def share(self, share: TeamShare) -> Markup:
        """A team's standing in a line."""
        return say(
            "• *{team}* 已用 {used:,} 卡，保障 {nominal:,} 卡 · 近期 {hours:,.0f} 卡时 · "
            "在共享资源池中排 {rank:,} / {teams:,}",
            team=share.team,
            used=share.used,
            nominal=share.nominal,
            hours=share.chip_hours,
            rank=share.rank,
            teams=share.teams,
        )


def _plain(sentence: Markup) -> str:
    return plain(literal(Markup(sentence.replace("`", ""))), 240)
