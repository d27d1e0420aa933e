"""What a Job must be, and when its template is open to change."""

from __future__ import annotations

import json
import re

from tests.kube.documents import Json, condition_of, copy_of
from tests.kube.selectors import selects
from tests.kube.statuses import Cause, invalid_value, required_value
from tests.kube.validation_pods import check_spec
from tests.kube.wording import DNS_LABEL

_TEMPLATE_OPEN = ("nodeSelector", "tolerations", "schedulingGates")


def check_new_job(body: Json) -> list[Cause]:
    """A Job at its creation: its pods must be able to have names."""
    name, causes = body["metadata"]["name"], check_job(body)
    if len(name) > 63:
        long = invalid_value("spec.template.labels", f'"{name}"', "must be no more than 63 bytes")
        causes += [long, long]  # once for each of the two labels that carry the name
    if body["spec"].get("completionMode") == "Indexed":
        ranks = max((body["spec"].get("completions") or 1) - 1, 0)
        host = f"{name}-{ranks}"
        if len(host) > 63 or re.fullmatch(DNS_LABEL, host) is None:
            why = f"will not able to create pod with invalid DNS label: {host}"
            causes.append(invalid_value("metadata.name", f'"{name}"', why))
    return causes


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
    causes += _check_template(spec["template"]["spec"])
    policy = spec["template"]["spec"].get("restartPolicy")
    if spec.get("podFailurePolicy") is not None and policy == "OnFailure":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        path = "spec.template.spec.restartPolicy"
        causes.append(invalid_value(path, f'"{policy}"', why))
    return causes


def _check_template(spec: Json) -> list[Cause]:
    path = "spec.template.spec"
    causes = check_spec(spec, path)
    if spec.get("restartPolicy") not in {"OnFailure", "Never"}:
        why = 'valid values: "OnFailure", "Never"'
        causes.append(required_value(f"{path}.restartPolicy", why))
    return causes


def check_job_status(before: Json, body: Json) -> list[Cause]:
    """The end of a Job is final."""
    was, now = before.get("status") or {}, body.get("status") or {}
    done = _is_true(before, "Complete") or _is_true(before, "Failed")
    causes: list[Cause] = []
    if now.get("completionTime") and not _is_true(body, "Complete"):
        why = "cannot set completionTime when there is no Complete=True condition"
        causes.append(invalid_value("status.completionTime", f'"{now["completionTime"]}"', why))
    if done and now.get("active", 0) > 0:
        why = "active>0 is invalid for finished job"
        causes.append(invalid_value("status.active", str(now["active"]), why))
    for kind, word in (
        ("Complete", "terminal "),
        ("Failed", "terminal "),
        ("FailureTarget", ""),
        ("SuccessCriteriaMet", ""),
    ):
        if was.get("conditions") and _is_true(before, kind) and not _is_true(body, kind):
            message = f"Invalid value: cannot disable the {word}{kind}=True condition"
            causes.append(Cause("status.conditions", "FieldValueInvalid", message))
    return causes


def _is_true(body: Json, kind: str) -> bool:
    found = condition_of(body, kind)
    return found is not None and bool(found["status"] == "True")


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
    # The server runs the checks of the spec twice on an update.
    wrong = check_job(body)
    causes = check_generated(body) + wrong + _check_match(body)
    causes += wrong + _check_match(body)
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
    causes = []
    shown = json.dumps(labels, sort_keys=True, separators=(",", ":"))
    for key, value in wanted.items():
        if key not in labels:
            causes.append(required_value(f"{path}[{key}]", f"must be '{value}'"))
        elif labels[key] != value:
            causes.append(invalid_value(f"{path}[{key}]", shown, f"must be '{value}'"))
    if "selector" not in spec:
        causes.append(required_value("spec.selector"))
    elif spec["selector"] != {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}:
        causes.append(invalid_value("spec.selector", "{}", "`selector` not auto-generated"))
    return causes


def _check_match(body: Json) -> list[Cause]:
    spec = body["spec"]
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    if "selector" not in spec or selects(spec["selector"], labels):
        return []
    why = "`selector` does not match template `labels`"
    shown = json.dumps(labels, sort_keys=True, separators=(",", ":")) if labels else "null"
    return [invalid_value("spec.template.metadata.labels", shown, why)]


def _check_completions(was: Json, now: Json) -> list[Cause]:
    """Completions change only together with parallelism, in an indexed Job."""
    if was.get("completions") == now.get("completions"):
        return []
    shown = json.dumps(now.get("completions"))
    if now.get("completionMode") != "Indexed":
        return [invalid_value("spec.completions", shown, "field is immutable")]
    if now.get("completions") == now.get("parallelism"):
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
    # Labels too: those that the server made have a check of their own.
    for name in ("annotations", "labels"):
        metadata.pop(name, None)
    template["metadata"] = metadata
