"""中文。Chinese, in parts by what is being said.

One word for one thing, as people who run GPU clusters say it:

    request 请求        queue 队列          pool 资源池        team 团队
    GPU(s) 卡           node 节点           rack 机架          block 区块
    waiting 排队中      in line 排在        admitted 已获准    starting 启动中
    running 运行中      release 释放        cancel 取消        lease 租期
    extend 延长         quota 配额          borrow 借用        take back 回收
    preempt 抢占        preemptible 可抢占  requeue 重新排队   evict 驱逐
    gang 整组           starving 饥饿       stranded 碎片      wholly free 整机空闲
    GPU-hours 卡时      utilisation 利用率  fragmentation 碎片率
    on-call 值班        lead 团队负责人     admin 管理员       by hand 人工干预
    reserved 预留       spot 竞价           flex-start 弹性    on demand 按需
    reason 原因         digest 摘要         report 报告        drain 排空

Latin words, numbers and `code` keep a space on either side: Slack draws bold and code only
there.
"""

from bot.chat.words.chinese.alerts import Alerts
from bot.chat.words.chinese.answers import Answers
from bot.chat.words.chinese.forms import Forms
from bot.chat.words.chinese.identity import Identity
from bot.chat.words.chinese.idle import Idle
from bot.chat.words.chinese.interventions import Interventions
from bot.chat.words.chinese.maps import Maps
from bot.chat.words.chinese.notifying import Notifying
from bot.chat.words.chinese.prospects import Prospects
from bot.chat.words.chinese.reports import Reports


class Chinese(
    Alerts,
    Answers,
    Forms,
    Identity,
    Idle,
    Interventions,
    Maps,
    Notifying,
    Prospects,
    Reports,
):
    """The bot's Chinese."""

    language = "zh"
