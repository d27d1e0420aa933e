"""Workloads and admissions come back from JSON exactly as they went in."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Dialect
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from scheduler.model import (
    Admission,
    PodSet,
    PodSetAssignment,
    Priority,
    TaintEffect,
    Toleration,
    TopologyMode,
    TopologyRequest,
    Workload,
)
from storage.columns import JsonText, Packed
from tests.storage.samples import workload

DIALECT: Dialect = SQLiteDialect_pysqlite()
NAMES = st.text(max_size=12)
COUNTS = st.integers(0, 2**63)
TIMES = st.floats(allow_nan=False, allow_infinity=False)
LABELS = st.dictionaries(NAMES, NAMES, max_size=3)

TOLERATIONS = st.builds(
    Toleration,
    key=NAMES,
    value=st.none() | NAMES,
    effect=st.none() | st.sampled_from(TaintEffect),
)
TOPOLOGIES = st.builds(TopologyRequest, mode=st.sampled_from(TopologyMode), level=st.none() | NAMES)
POD_SETS = st.builds(
    PodSet,
    name=NAMES,
    count=COUNTS,
    requests=st.dictionaries(NAMES, COUNTS, max_size=3),
    min_count=st.none() | COUNTS,
    node_selector=LABELS,
    tolerations=st.lists(TOLERATIONS, max_size=2).map(tuple),
    topology=st.none() | TOPOLOGIES,
)
WORKLOADS = st.builds(
    Workload,
    id=NAMES,
    team=NAMES,
    owner=NAMES,
    queue=NAMES,
    overflow=st.lists(NAMES, max_size=3).map(tuple),
    priority_class=st.sampled_from(Priority),
    priority=st.integers(-(2**31), 2**31),
    created=TIMES,
    pod_sets=st.lists(POD_SETS, max_size=3).map(tuple),
    preemptible=st.booleans(),
    duration=st.none() | TIMES,
    name=NAMES,
)
ASSIGNMENTS = st.builds(
    PodSetAssignment,
    name=NAMES,
    count=COUNTS,
    flavors=st.dictionaries(NAMES, NAMES, max_size=3),
    nodes=st.lists(st.tuples(NAMES, COUNTS), max_size=4).map(tuple),
)
ADMISSIONS = st.builds(
    Admission,
    workload=NAMES,
    queue=NAMES,
    assignments=st.lists(ASSIGNMENTS, max_size=3).map(tuple),
    at=TIMES,
    borrowing=st.booleans(),
)


def _there_and_back(kind: type[Any], value: Any) -> Any:
    column = Packed(kind)
    stored = column.process_bind_param(value, DIALECT)
    return column.process_result_value(stored, DIALECT)


@given(WORKLOADS)
def test_workloads_come_back_exactly(value: Workload) -> None:
    back = _there_and_back(Workload, value)
    assert back == value
    assert repr(back) == repr(value)  # also the types and the order inside


@given(ADMISSIONS)
def test_admissions_come_back_exactly(value: Admission) -> None:
    back = _there_and_back(Admission, value)
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize("moment", [math.inf, -math.inf, math.nan])
def test_a_number_that_json_cannot_say_is_refused(moment: float) -> None:
    odd = PodSetAssignment(name="main", count=1, flavors={}, nodes=())
    value = Admission(workload="R-1", queue="q", assignments=(odd,), at=moment)  # type: ignore[arg-type]  # plain names do
    with pytest.raises(ValueError, match="JSON"):
        _there_and_back(Admission, value)
    with pytest.raises(ValueError, match="JSON"):
        JsonText().process_bind_param({"at": moment}, DIALECT)


def test_older_and_later_rows_are_understood() -> None:
    """A field that is missing has its default; a field that we do not know is passed over."""
    value = workload("R-1001")
    column = Packed(Workload)
    plain = json.loads(column.process_bind_param(value, DIALECT) or "")
    del plain["preemptible"], plain["pod_sets"][0]["tolerations"]
    plain["invented_later"] = plain["pod_sets"][0]["also_later"] = 1
    assert column.process_result_value(json.dumps(plain), DIALECT) == value


def test_a_number_of_the_wrong_kind_is_refused_when_it_is_written() -> None:
    """Otherwise it would only be found when the row can no longer be read."""
    value = Admission(workload="R-1", queue="q", assignments=(), at="soon")  # type: ignore[arg-type]  # the point
    with pytest.raises(ValueError, match="soon"):
        Packed(Admission).process_bind_param(value, DIALECT)
