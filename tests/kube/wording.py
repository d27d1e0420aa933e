"""Names and labels: patterns, and the sentences of the server about them."""

from __future__ import annotations

import re

KEY_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_PATTERN = f"({KEY_PATTERN})?"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_LABEL = _LABEL
NAME_PATTERN = f"{_LABEL}(\\.{_LABEL})*"
NAME_ADVICE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{NAME_PATTERN}')"
)
_PARTS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{KEY_PATTERN}')"
)


def name_problems(key: str) -> list[str]:
    """What is wrong with a qualified name such as 'gpubot.dev/admission'."""
    parts = key.split("/")
    if len(parts) > 2:
        advice = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_PARTS} {advice}"]
    name = parts[-1]
    problems = []
    if len(parts) == 2 and not parts[0]:
        problems.append("prefix part must be non-empty")
    elif len(parts) == 2 and re.fullmatch(NAME_PATTERN, parts[0]) is None:
        problems.append(f"prefix part {NAME_ADVICE}")
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if re.fullmatch(KEY_PATTERN, name) is None:
        problems.append(f"name part {_PARTS}")
    return problems


def value_problem(value: str) -> str | None:
    """What is wrong with the value of a label."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    if re.fullmatch(_VALUE_PATTERN, value) is None:
        return (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  "
            f"or 'my_value',  or '12345', regex used for validation is '({_VALUE_PATTERN[1:-2]})?')"
        )
    return None
