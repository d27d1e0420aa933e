"""Bodies in the API's binary form."""

from __future__ import annotations

import pytest

from tests.kube.protobuf import read
from tests.kube.statuses import Refusal


def field(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def whole(kind: bytes, raw: bytes) -> bytes:
    head = field(1, b"v1") + field(2, kind)
    return b"k8s\x00" + field(1, head) + field(2, raw) + field(3, b"")


META = field(1, b"a") + field(2, b"") + field(11, field(1, b"key") + field(2, b"text"))


def test_what_is_said_is_read_and_what_is_empty_is_not() -> None:
    secret = field(1, META) + field(2, field(1, b"x") + field(2, b"\xff")) + b"\x28\x01"
    assert read(whole(b"Secret", secret)) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "labels": {"key": "text"}},
        "data": {"x": "/w=="},
        "immutable": True,
    }


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{}", 400),
        (whole(b"Namespace", field(1, META)[:-3]), 400),
        (whole(b"Namespace", b"\x0a"), 400),
        (whole(b"CronJob", b""), 415),
    ],
    ids=["json", "cut-off", "no-length", "unknown-kind"],
)
def test_what_cannot_be_read_is_refused(body: bytes, code: int) -> None:
    with pytest.raises(Refusal) as refused:
        read(body)
    assert refused.value.code == code
