"""Renders the templates of our own chart, in the small part of Go's template language that they use.

This is not Helm: it knows `.Values`, `.Release.Name`, `if` with or without `eq`, `range` and `end`, and refuses
anything else. So it tells that values and templates fit together and give YAML; Helm itself has not run here.
"""

import re
from pathlib import Path

import yaml

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "discreet"
_ACTION = re.compile(r"\{\{-? *(.*?) *\}\}")


def values(**changes):
    """The chart's values; a change is named by its path, with two underscores for a dot."""
    found = yaml.safe_load((CHART / "values.yaml").read_text())
    for path, value in changes.items():
        *folders, last = path.split("__")
        place = found
        for folder in folders:
            place = place[folder]
        assert last in place, path
        place[last] = value
    return found


def rendered(**changes):
    """All objects of the chart, by kind."""
    documents = {}
    for template in sorted((CHART / "templates").glob("*.yaml")):
        one = yaml.safe_load(_render(template.read_text(), values(**changes)))
        documents[one["kind"]] = one
    return documents


def _render(text, found):
    lines, open_ = [], [(True, None)]
    for line in text.splitlines():
        action = _ACTION.fullmatch(line.strip())
        word = action.group(1).split() if action else []
        if word[:1] == ["if"]:
            open_.append((open_[-1][0] and _is_true(word[1:], found), None))
        elif word[:1] == ["range"]:
            open_.append((open_[-1][0], _look_up(word[1], found)))
        elif word == ["end"]:
            open_.pop()
        elif open_[-1][0]:
            each = [None] if open_[-1][1] is None else open_[-1][1]
            lines += [_ACTION.sub(lambda m, one=one: str(_look_up(m.group(1), found, one)), line) for one in each]
    assert len(open_) == 1, "an if or a range without its end"
    return "\n".join(lines)


def _is_true(words, found):
    if words[0] == "eq":
        return _look_up(words[1], found) == words[2].strip('"')
    return bool(_look_up(words[0], found))


def _look_up(word, found, one=None):
    if word == ".":
        return one
    if word == ".Release.Name":
        return "trial"
    assert word.startswith(".Values."), f"{word}: not in the part of the language that is known here"
    for name in word.removeprefix(".Values.").split("."):
        found = found[name]  # an unknown value is an error, where Helm would write nothing
    return found
