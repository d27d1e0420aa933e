"""The labels, annotations and the gate by which the bot and Kubernetes objects know each other.

People write the labels of a request; the bot alone writes the annotations.
"""

from __future__ import annotations

PREFIX = "gpubot.dev/"

MANAGED = PREFIX + "managed"  # on a namespace: GPU pods in it wait for the bot
GATE = PREFIX + "admission"  # the scheduling gate of a pod that waits

TEAM = PREFIX + "team"
SPEND = PREFIX + "spend"
PREEMPTIBLE = PREFIX + "preemptible"
PRIORITY = PREFIX + "priority"
REQUEST = PREFIX + "request"  # by people: "this is what R-1042 was granted for"
GROUP = PREFIX + "group"  # pods that start together, or not at all
GROUP_SIZE = PREFIX + "group-size"
ROLE = PREFIX + "role"  # of a pod in its group: those of one role are all of one shape

TOPOLOGY = PREFIX + "topology"  # `same-rack`: how near its pods shall lie

GUARANTEED = PREFIX + "guaranteed"  # how many replicas are not preemptible

LEASE = PREFIX + "lease"
OWNER = PREFIX + "owner"  # a Slack user id

CHECKPOINTED = PREFIX + "checkpointed-at"  # by people's work: when it last saved its progress

ADMITTED = PREFIX + "admitted"  # the request's id, on what the bot let start
DECISION = PREFIX + "decision"  # id of the decision that was carried out last
GRANT = PREFIX + "grant"  # that decision's placement, as JSON
LEFT = PREFIX + "left"  # the decision that a pod ran by when its team's label was taken off
MADE = PREFIX + "made"  # on what the bot made itself, for /gpu run and /gpu debug
PINNED = PREFIX + "pinned"  # the selector's host and the gate are ours, not its maker's
REDEEMED = PREFIX + "redeemed"  # the hold that a pod was let go for, whatever its label says since
PLACED = PREFIX + "placed"  # in a template that names its node: its pods need not wait at the gate
STOP_AT = PREFIX + "stop-at"  # when it will be stopped, with the grace it was given
SEAL = PREFIX + "seal"  # whose marks these are, and about which object
FORMER = PREFIX + "former"  # only in memory: a decision that is not ours, or about another object

HOSTNAME = "kubernetes.io/hostname"
TEMPLATE_HASH = "pod-template-hash"  # ends the name of a Deployment's ReplicaSet
REVISION_HASH = "controller-revision-hash"  # of a StatefulSet's template
INDEX = "batch.kubernetes.io/job-completion-index"

JOB_SET = "jobset.sigs.k8s.io/"  # prefix of the labels by which a pod knows its JobSet
JOB_SET_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"  # each Job has its own domain
JOB_SET_LABELLED = "alpha.jobset.sigs.k8s.io/node-selector"  # which somebody has labelled so

LWS = "leaderworkerset.sigs.k8s.io/"  # prefix of what a pod says of its LeaderWorkerSet
LWS_NAME = LWS + "name"
LWS_GROUP = LWS + "group-index"  # which replica it is of
LWS_WORKER = LWS + "worker-index"  # which pod of that; the leader is 0
LWS_SIZE = LWS + "size"  # annotation: how many pods a replica has
LWS_REVISION = LWS + "template-revision-hash"
LWS_EXCLUSIVE = LWS + "exclusive-topology"  # annotation: a replica has a domain of its own
EXCLUSIVE = PREFIX + "exclusive-topology"  # the same, as one of our marks

FIELD_MANAGER = "gpubot"
