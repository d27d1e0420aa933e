"""The fixture of the emulated API server, for any room.

From a conftest: `from tests.kube.fixtures import api_server`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kube.server import ApiServer


@pytest.fixture
def api_server() -> Iterator[ApiServer]:
    """Four nodes n1..n4 of 8 GPUs in two racks, as in the recordings, and a namespace 'team'."""
    with ApiServer() as api:
        for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2"), ("n4", "r2")):
            marks = {"gpubot.dev/gpu": "h100", "topology.gpubot.dev/rack": rack}
            api.add_node(name, labels=marks)
        api.add_namespace("team")
        yield api
        assert api.app.errors == []
