"""Whether labels and taints let pods in: Kubernetes' rules for selectors, affinity, tolerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler.model import Node, Operator, PodSet, Requirement, Taint, TaintEffect, Toleration


def tolerates(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether some toleration matches the taint, by Kubernetes' rules."""
    if taint.effect is TaintEffect.PREFER_NO_SCHEDULE:
        return True
    return any(
        t.key in ("", taint.key)
        and (t.value is None or t.value == taint.value)
        and t.effect in (None, taint.effect)
        for t in tolerations
    )


def meets(labels: Mapping[str, str], term: Sequence[Requirement], name: str | None = None) -> bool:
    """Whether labels, and a name, meet every demand of one alternative of a node affinity."""
    return all(_holds(name if one.of_name else labels.get(one.key), one) for one in term)


def _holds(value: str | None, one: Requirement) -> bool:
    match one.operator:
        case Operator.IN:
            return value in one.values
        case Operator.NOT_IN:
            return value not in one.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.GREATER | Operator.LESS:
            number, limit = _whole(value), _whole(next(iter(one.values), None))
            if number is None or limit is None:
                return False
            return number > limit if one.operator is Operator.GREATER else number < limit


def _whole(text: str | None) -> int | None:
    """The number that a label's value is, None for any other text."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def lets_in(node: Node, pods: PodSet, tolerations: Sequence[Toleration]) -> bool:
    """Whether pods may lie on a node, whatever room it has."""
    return (
        pods.node_selector.items() <= node.labels.items()
        and (
            not pods.affinity or any(meets(node.labels, term, node.name) for term in pods.affinity)
        )
        and all(tolerates(tolerations, taint) for taint in node.taints)
    )
