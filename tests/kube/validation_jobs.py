"""What a Job must be, and when its template is open to change."""

from __future__ import annotations

from tests.kube.documents import Json, condition_of, copy_of
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
    causes = check_job(body)
    if was == now:
        return causes
    causes += _check_fixed(was, now)
    if not _same_template(was, now, is_open=template_open(before)):
        causes.append(
            invalid_value("spec.template", "core.PodTemplateSpec{}", "field is immutable")
        )
    return causes


def _check_fixed(was: Json, now: Json) -> list[Cause]:
    causes: list[Cause] = []
    names = ["selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"]
    names.append("successPolicy")
    elastic = now.get("completionMode") == "Indexed" and now.get("completions") == now.get(
        "parallelism"
    )
    if not elastic:
        names.insert(0, "completions")
    for name in names:
        if was.get(name) != now.get(name):
            shown = str(now.get(name))
            causes.append(invalid_value(f"spec.{name}", shown, "field is immutable"))
    return causes


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
