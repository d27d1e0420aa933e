"""Every scenario file, each a story with one point."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from scheduler.model import PreemptionRule, WaitReason
from tests.scheduler.scenarios import Scenario, paths


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
def test_scenario(path: Path) -> None:
    Scenario(path).play()


def _expectations() -> list[dict[str, dict[str, object]]]:
    docs = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths()]
    return [step["expect"] for doc in docs for step in doc["steps"] if "expect" in step]


def test_every_reason_to_wait_is_met_in_some_scenario() -> None:
    met = {reason for expect in _expectations() for reason in expect.get("waiting", {}).values()}
    assert met == {reason.value for reason in WaitReason}


def test_the_rules_of_classic_preemption_are_met_in_some_scenario() -> None:
    rules = [rule for expect in _expectations() for rule in expect.get("rules", {}).values()]
    met = {rule[0] for rule in rules if isinstance(rule, list)}
    others = {PreemptionRule.FAIR_SHARING, PreemptionRule.INTERVENTION}
    assert met == {rule.value for rule in PreemptionRule} - {rule.value for rule in others}
