"""The parts of a request, as people call them in Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from bot.fields import FieldName

FIELDS: Mapping[FieldName, str] = {
    FieldName.SIZE: "大小",
    FieldName.MINIMUM: "最小规模",
    FieldName.MODEL: "GPU 型号",
    FieldName.LEASE: "租期",
    FieldName.PREEMPTIBLE: "可抢占",
    FieldName.PRIORITY: "优先级",
    FieldName.SPEND: "花费",
    FieldName.PROVISION: "节点类型",
    FieldName.TOPOLOGY: "放置",
    FieldName.TEAM: "团队",
    FieldName.NAME: "名称",
    FieldName.OWNER: "申请人",
}
