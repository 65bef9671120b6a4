"""Parameter groups: globs over a module's parameter names, checked so that nothing is forgotten or moved twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from torch import nn

from lengthwise.errors import InputError, unknown

Globs = Mapping[str, Sequence[str]]


def groups_of(module: nn.Module, globs: Globs | None = None) -> dict[str, list[str]]:
    """The trainable parameters of a module by group: group name to parameter names, in the module's order.

    `globs` defaults to the module's own `groups`, and without those to one group `all`. Tied parameters are
    listed once, under their first name.

    Errors (each names the parameter or the glob): a glob that matches nothing, a parameter in two groups or in none,
    tied parameters in different groups.

    >>> layer = nn.Linear(2, 2)
    >>> groups_of(layer, {"weights": ["weight"], "rest": ["b*"]})
    {'weights': ['weight'], 'rest': ['bias']}
    """
    own: Globs | None = getattr(module, "groups", None)
    globs = globs or own or {"all": ("*",)}
    names = [name for name, p in module.named_parameters(remove_duplicate=False) if p.requires_grad]
    first = _first_names(module)
    group: dict[str, str] = {}
    for name in names:
        for candidate in (g for g, patterns in globs.items() if _matches(name, patterns)):
            _assign(group, first[name], name, candidate)
    _check_globs(globs, names)
    if missing := [name for name in names if first[name] not in group]:
        raise InputError(f"parameter {missing[0]!r} is in no group: expected one of {', '.join(globs)} to match it")
    return {g: [n for n in names if n == first[n] and group[n] == g] for g in globs}


def check_rates(groups: Mapping[str, Sequence[str]], named: Sequence[str], where: str) -> None:
    """Raise InputError if a phase names a group that the module does not have.

    >>> check_rates({"attention": ["query"]}, ["attentoin"], "phase 1")
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: phase 1: unknown group 'attentoin': did you mean 'attention'?
    """
    for name in named:
        if name not in groups and name != "all":
            raise InputError(f"{where}: {unknown('group', name, [*groups])}")


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _first_names(module: nn.Module) -> dict[str, str]:
    seen: dict[int, str] = {}
    return {name: seen.setdefault(id(p), name) for name, p in module.named_parameters(remove_duplicate=False)}


def _assign(group: dict[str, str], first: str, name: str, candidate: str) -> None:
    present = group.setdefault(first, candidate)
    if present == candidate:
        return
    if name == first:
        raise InputError(f"parameter {name!r} is in two groups: {present!r} and {candidate!r}")
    raise InputError(
        f"tied parameters {first!r} and {name!r} are in groups {present!r} and {candidate!r}:"
        " put them in one group, or untie them"
    )


def _check_globs(globs: Globs, names: Sequence[str]) -> None:
    for group, patterns in globs.items():
        if not patterns:
            raise InputError(f"group {group!r} has no globs: expected at least one")
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise InputError(
                    f"group {group!r}: glob {pattern!r} matches no parameter; there are {', '.join(names)}"
                )
