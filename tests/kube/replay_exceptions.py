"""Recorded steps that the emulator does not hold, and why.

The replay fails for any other difference, and also when one of these steps is held after all.
"""

from __future__ import annotations

_DISTRIBUTION = "paths and versions of the distribution that was recorded"
_NO_CRON_JOBS = "only the kinds that are emulated: no CronJobs"
_CHANCE = "the real controllers batch their looks, so how often they write is chance"

EXCEPTIONS: dict[str, dict[int, str]] = {
    "auth-01-who-and-may": {12: _DISTRIBUTION},
    "auth-02-discovery-and-health": {
        0: _DISTRIBUTION,
        4: "the list of the server's own checks",
        9: _NO_CRON_JOBS,
        10: "no proxies, no logs and no commands in a pod",
        11: _NO_CRON_JOBS,
    },
    "crd-01-custom-resource-life": {11: "no accessor error of the scale subresource beside it"},
    "job-06-patch-template-while-running": {9: "which of two equal pods goes is chance"},
    "job-17-suspend-gated-pods": {4: "the real controller counts pods that it just removed"},
    "job-18-pod-lost-and-replaced": {2: _CHANCE},
    "job-20-managed-by-and-invalid": {
        10: "a race: the controller wrote its event but not yet the status"
    },
    "node-03-lost-node": {
        3: "the successor of a lost pod comes with the count of the failure, not later",
        8: "the successor of a lost pod comes with the count of the failure, not later",
    },
    "pod-07-eviction": {27: "the recording has a number of the laboratory where a version belongs"},
    "policy-04-broken-policies": {
        0: "another parser, so another sentence about the syntax error",
        2: "expressions are not type-checked",
    },
    "watch-07-metadata-and-table": {6: "no YAML: whoever reads it asks for JSON"},
    "watch-08-expired-and-restart": {10: "objects of the laboratory that no step made"},
    "write-04-apply-ownership": {7: "a manager of nothing keeps its entry without a time"},
}
