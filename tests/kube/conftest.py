"""Fixtures of the emulator's own tests."""

from __future__ import annotations

from tests.kube.fixtures import api_server

__all__ = ["api_server"]
