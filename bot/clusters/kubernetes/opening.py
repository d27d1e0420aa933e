"""The way to the API server: as a pod of the cluster, or by a kubeconfig."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from kubernetes import client as kube
from kubernetes import config

from bot.clusters.kubernetes.connection import READ, Connection

_POOL = 32  # connections kept: a watch for each kind, and the writes that are under way


class NoCluster(Exception):
    """There is no way to an API server; the message says what to set."""


def open_connection(read: float = READ) -> Connection:
    """A connection by KUBECONFIG where that is set, else as a pod. Raises NoCluster.

    `read` is for how many seconds an answer is waited for.
    """
    load = _by_file if os.environ.get("KUBECONFIG") else _as_pod

    def open_client() -> kube.ApiClient:
        return new_client(load)

    return Connection(open_client, read=read)


def new_client(load: Callable[[kube.Configuration], None]) -> kube.ApiClient:
    """A client with the credentials as they are now. Raises NoCluster."""
    settings = kube.Configuration()
    load(settings)
    settings.connection_pool_maxsize = _POOL
    settings.retries = 0
    made = kube.ApiClient(settings)
    made.user_agent = "gpubot"
    return made


def _as_pod(settings: kube.Configuration) -> None:
    try:
        load: Any = config.load_incluster_config
        load(client_configuration=settings)
    except config.ConfigException as error:
        raise NoCluster(
            f"GPUBOT_CLUSTER=kubernetes: not in a pod of a cluster ({error}), and KUBECONFIG is "
            "not set; for example KUBECONFIG=$HOME/.kube/config"
        ) from error


def _by_file(settings: kube.Configuration) -> None:
    file = os.environ["KUBECONFIG"]  # as it is now: the library knows what it was when imported
    try:
        load: Any = config.load_kube_config
        load(config_file=file, client_configuration=settings)
    except (config.ConfigException, OSError) as error:
        raise NoCluster(f"KUBECONFIG={file}: {error}") from error
