"""What the server fills in where a field is left out, before anything is checked."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

from tests.kube.documents import Json, dig, labels_of
from tests.kube.kinds import (
    BUDGET,
    CLAIM,
    CONFIG_MAP,
    DEFINITION,
    DEPLOYMENT,
    EVENT,
    JOB,
    MUTATING_POLICY,
    NAMESPACE,
    NETWORK_POLICY,
    NODE,
    POD,
    REPLICA_SET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    VALIDATING_POLICY,
    Kind,
)

_EMPTY_DROPPED = ("nodeSelector", "tolerations", "schedulingGates", "volumes", "initContainers")


def _default(body: Json, **values: object) -> None:
    for name, value in values.items():
        if body.get(name) is None:
            body[name] = value


def fill_container(container: Json) -> None:
    _default(container, resources={})
    for part in ("limits", "requests"):
        if asked := container["resources"].get(part):
            container["resources"][part] = {name: str(amount) for name, amount in asked.items()}
    container["terminationMessagePath"] = (
        container.get("terminationMessagePath") or "/dev/termination-log"
    )
    _default(container, terminationMessagePolicy="File")
    if not container.get("imagePullPolicy"):
        image = str(container.get("image", ""))
        tag = image.rsplit("/", 1)[-1].partition(":")[2]
        container["imagePullPolicy"] = "Always" if tag in {"", "latest"} else "IfNotPresent"
    for port in container.get("ports") or []:
        _default(port, protocol="TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name):
            _fill_probe(container[name])
    for variable in container.get("env") or []:
        if field := dig(variable, "valueFrom.fieldRef"):
            _default(field, apiVersion="v1")


def _fill_probe(probe: Json) -> None:
    _default(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    if probe.get("httpGet"):
        _default(probe["httpGet"], scheme="HTTP")


def fill_pod_spec(spec: Json) -> None:
    for name in _EMPTY_DROPPED:
        if name in spec and not spec[name]:
            del spec[name]
    for container in (spec.get("initContainers") or []) + (spec.get("containers") or []):
        fill_container(container)
    for volume in spec.get("volumes") or []:
        for form in ("configMap", "secret"):
            if volume.get(form):
                _default(volume[form], defaultMode=420)
    _default(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if spec.get("serviceAccountName"):
        _default(spec, serviceAccount=spec["serviceAccountName"])


def fill_requests(spec: Json) -> None:
    """Limits count as requests where no request is given; pods only, not templates."""
    for container in (spec.get("initContainers") or []) + (spec.get("containers") or []):
        resources = container["resources"]
        limits = resources.get("limits")
        if limits:
            resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _fill_pod(body: Json) -> None:
    spec = body.setdefault("spec", {})
    fill_pod_spec(spec)
    fill_requests(spec)
    _default(spec, enableServiceLinks=True)


def _template(body: Json) -> Json:
    template: Json = body.setdefault("spec", {}).setdefault("template", {})
    _default(template, spec={})
    return template


def _fill_job(body: Json) -> None:
    spec = body.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    _default(spec, parallelism=1, completionMode="NonIndexed", suspend=False, manualSelector=False)
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 2147483647 if spec.get("backoffLimitPerIndex") is not None else 6
    failed_only = spec.get("podFailurePolicy") is not None
    _default(spec, podReplacementPolicy="Failed" if failed_only else "TerminatingOrFailed")
    template = _template(body)
    if template["spec"].get("restartPolicy") is None:
        template["spec"]["restartPolicy"] = ""  # no default: validation names it
    fill_pod_spec(template["spec"])
    if not labels_of(body) and labels_of(template):
        body["metadata"]["labels"] = dict(labels_of(template))
    for rule in dig(spec, "podFailurePolicy.rules", []):
        for pattern in rule.get("onPodConditions") or []:
            _default(pattern, status="True")


def _fill_deployment(body: Json) -> None:
    spec = body.setdefault("spec", {})
    _default(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = spec.setdefault("strategy", {})
    _default(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        _default(rolling, maxUnavailable="25%", maxSurge="25%")
    fill_pod_spec(_template(body)["spec"])


def _fill_replica_set(body: Json) -> None:
    _default(body.setdefault("spec", {}), replicas=1)
    fill_pod_spec(_template(body)["spec"])


def _fill_stateful_set(body: Json) -> None:
    spec = body.setdefault("spec", {})
    _default(
        spec,
        replicas=1,
        revisionHistoryLimit=10,
        podManagementPolicy="OrderedReady",
        updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"},
    )
    fill_pod_spec(_template(body)["spec"])


def _fill_node(body: Json) -> None:
    body.setdefault("spec", {})
    status = body.setdefault("status", {})
    if "capacity" in status:
        _default(status, allocatable=dict(status["capacity"]))
    _default(status, daemonEndpoints={"kubeletEndpoint": {"Port": 0}})
    info = status.setdefault("nodeInfo", {})
    for name in (
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ):
        info.setdefault(name, "")


def _fill_namespace(body: Json) -> None:
    labels = body["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = body["metadata"]["name"]


def _fill_definition(body: Json) -> None:
    spec = body["spec"]
    names = spec["names"]
    _default(names, singular=names["kind"].lower(), listKind=f"{names['kind']}List")
    _default(spec, conversion={"strategy": "None"})


def _fill_budget(body: Json) -> None:
    body.setdefault("spec", {})
    status = body.setdefault("status", {})
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        _default(status, **{name: 0})


def _fill_event(body: Json) -> None:
    for name in ("reportingComponent", "reportingInstance"):
        body.setdefault(name, "")
    for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
        body.setdefault(name, None)
    body.setdefault("source", {})


def _fill_policy(body: Json) -> None:
    spec = body.setdefault("spec", {})
    constraints = spec.setdefault("matchConstraints", {})
    _default(constraints, namespaceSelector={}, objectSelector={}, matchPolicy="Equivalent")
    for rule in constraints.get("resourceRules") or []:
        _default(rule, scope="*")
    _default(spec, failurePolicy="Fail")


def _fill_secret(body: Json) -> None:
    written = body.pop("stringData", None) or {}
    data = {name: b64encode(text.encode()).decode() for name, text in written.items()}
    if data:
        body["data"] = {**(body.get("data") or {}), **data}
    _default(body, type="Opaque")


def _fill_service(body: Json) -> None:
    spec = body.setdefault("spec", {})
    _default(spec, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
    for port in spec.get("ports") or []:
        _default(port, protocol="TCP")
        _default(port, targetPort=port["port"])
    _default(body, status={"loadBalancer": {}})


def _fill_claim(body: Json) -> None:
    _default(body.setdefault("spec", {}), volumeMode="Filesystem")
    _default(body, status={"phase": "Pending"})


def _fill_network_policy(body: Json) -> None:
    spec = body.setdefault("spec", {})
    _default(spec, policyTypes=["Ingress", *(["Egress"] if "egress" in spec else [])])
    for rule in (spec.get("ingress") or []) + (spec.get("egress") or []):
        for port in rule.get("ports") or []:
            _default(port, protocol="TCP")


_FILLERS: dict[Kind, Callable[[Json], None]] = {
    POD: _fill_pod,
    JOB: _fill_job,
    DEPLOYMENT: _fill_deployment,
    REPLICA_SET: _fill_replica_set,
    STATEFUL_SET: _fill_stateful_set,
    NODE: _fill_node,
    BUDGET: _fill_budget,
    EVENT: _fill_event,
    SECRET: _fill_secret,
    SERVICE: _fill_service,
    CLAIM: _fill_claim,
    NETWORK_POLICY: _fill_network_policy,
    NAMESPACE: _fill_namespace,
    DEFINITION: _fill_definition,
    MUTATING_POLICY: _fill_policy,
    VALIDATING_POLICY: _fill_policy,
}


def _drop_empty(kind: Kind, body: Json) -> None:
    """Leave out what the server's encoder leaves out."""
    for name in ("data", "binaryData"):
        if kind is CONFIG_MAP and not body.get(name):
            body.pop(name, None)
    for condition in dig(body, "status.conditions", []) if kind in {NODE, POD} else ():
        for name in ("reason", "message"):
            if condition.get(name) == "":
                del condition[name]
        if kind is POD:
            condition.setdefault("lastProbeTime", None)


def fill(kind: Kind, body: Json) -> None:
    """Set the defaults of a kind in place."""
    _drop_empty(kind, body)
    filler = _FILLERS.get(kind)
    if filler is not None:
        filler(body)
