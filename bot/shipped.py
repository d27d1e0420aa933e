"""Files that come with the bot: the default policy and the app manifest."""

from __future__ import annotations

from pathlib import Path

from scheduler.policy import Policy, PolicyError, load_policy

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE / "deploy", _PACKAGE.parent / "deploy")  # installed, or a checkout
POLICY = "policy.yaml"
TEMPLATES = "templates.yaml"
MANIFEST = "slack-manifest.yaml"


def shipped(name: str) -> Path:
    """Where a file is that comes with the bot. Raises FileNotFoundError."""
    for place in _PLACES:
        if (place / name).is_file():
            return place / name
    raise FileNotFoundError(f"{name} is in none of {', '.join(map(str, _PLACES))}")


def read_policy(path: Path | None = None) -> Policy:
    """The policy of a file, or the one that comes with the bot. Raises PolicyError."""
    source = shipped(POLICY) if path is None else path
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable(source, "is not text (UTF-8)") from error
    except OSError as error:
        raise _unreadable(source, f"cannot be read: {error.strerror}") from error
    return load_policy(text, str(source))


def _unreadable(source: Path, message: str) -> PolicyError:
    return PolicyError(
        file=str(source),
        line=0,
        field="",
        message=message,
        example="name a policy file, such as deploy/policy.yaml",
    )
