"""What a Job must be, and when its template is open to change."""

from __future__ import annotations

import json

from tests.kube.documents import Json, condition_of, copy_of
from tests.kube.selectors import selects
from tests.kube.statuses import Cause, invalid_value, required_value, unsupported_value
from tests.kube.validation_pods import check_spec

_TEMPLATE_OPEN = ("nodeSelector", "tolerations", "schedulingGates")


def check_job(body: Json) -> list[Cause]:
    spec = body["spec"]
    causes: list[Cause] = []
    for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds"):
        value = spec.get(name)
        if value is not None and value < 0:
            why = "must be greater than or equal to 0"
            causes.append(invalid_value(f"spec.{name}", str(value), why))
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        causes.append(required_value("spec.completions", "when completion mode is Indexed"))
    return causes + _check_template(spec["template"]["spec"])


def _check_template(spec: Json) -> list[Cause]:
    path = "spec.template.spec"
    causes = check_spec(spec, path)
    policy = spec.get("restartPolicy", "")
    if not policy:
        why = 'valid values: "OnFailure", "Never"'
        causes.append(required_value(f"{path}.restartPolicy", why))
    elif policy not in {"OnFailure", "Never"}:
        causes.append(
            unsupported_value(f"{path}.restartPolicy", f'"{policy}"', ["OnFailure", "Never"])
        )
    return causes


def template_open(before: Json) -> bool:
    """Whether the template may change: suspended, and the suspension was processed."""
    spec, status = before["spec"], before.get("status") or {}
    if not spec.get("suspend"):
        return False
    suspended = condition_of(before, "Suspended")
    was_suspended = suspended is not None and suspended["status"] == "True"
    return was_suspended or status.get("startTime") is None


def check_job_change(before: Json, body: Json) -> list[Cause]:
    was, now = before["spec"], body["spec"]
    causes = check_generated(body) + check_job(body)
    if was == now:
        return causes
    causes += _check_completions(was, now) + _check_fixed(was, now)
    is_open = template_open(before)
    if not _same_template(was, now, is_open=is_open):
        path = "spec.template.spec" if is_open else "spec.template"
        causes.append(invalid_value(path, "{}", "field is immutable"))
    return causes


def check_generated(body: Json) -> list[Cause]:
    """The labels and the selector that the server made must stay."""
    spec = body["spec"]
    if spec.get("manualSelector"):
        return []
    uid, name = body["metadata"]["uid"], body["metadata"]["name"]
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    path = "spec.template.metadata.labels"
    wanted = {
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    causes = [
        required_value(f"{path}[{key}]", f"must be '{value}'")
        for key, value in wanted.items()
        if labels.get(key) != value
    ]
    selector = spec["selector"]
    if selector != {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}:
        causes.append(invalid_value("spec.selector", "{}", "`selector` not auto-generated"))
    if not selects(selector, labels):
        why = "`selector` does not match template `labels`"
        shown = json.dumps(labels, sort_keys=True, separators=(",", ":")) if labels else "null"
        causes.append(invalid_value(path, shown, why))
    return causes


def _check_completions(was: Json, now: Json) -> list[Cause]:
    """Completions change only together with parallelism, in an indexed Job."""
    if was.get("completions") == now.get("completions"):
        return []
    shown = json.dumps(now.get("completions"))
    if now.get("completionMode") != "Indexed":
        return [invalid_value("spec.completions", shown, "field is immutable")]
    if now["completions"] == now.get("parallelism"):
        return []
    why = "can only be modified in tandem with spec.parallelism"
    return [invalid_value("spec.completions", shown, why)]


def _check_fixed(was: Json, now: Json) -> list[Cause]:
    names = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex")
    return [
        invalid_value(f"spec.{name}", json.dumps(now.get(name)), "field is immutable")
        for name in (*names, "managedBy", "successPolicy")
        if was.get(name) != now.get(name)
    ]


def _same_template(was: Json, now: Json, *, is_open: bool) -> bool:
    left, right = copy_of(was["template"]), copy_of(now["template"])
    if is_open:
        for template in (left, right):
            _drop_directives(template)
    return bool(left == right)


def _drop_directives(template: Json) -> None:
    """Leave out what a suspended Job may change."""
    spec = template["spec"]
    for name in _TEMPLATE_OPEN:
        spec.pop(name, None)
    affinity = {k: v for k, v in (spec.pop("affinity", None) or {}).items() if k != "nodeAffinity"}
    if affinity:
        spec["affinity"] = affinity
    for container in spec.get("containers", []) + spec.get("initContainers", []):
        container.pop("resources", None)
    metadata = template.get("metadata") or {}
    metadata.pop("annotations", None)
    kept = {
        key: value
        for key, value in (metadata.pop("labels", None) or {}).items()
        if key.startswith("batch.kubernetes.io/") or key in {"controller-uid", "job-name"}
    }
    template["metadata"] = {**metadata, "labels": kept}
