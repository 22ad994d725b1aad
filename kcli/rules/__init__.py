"""All rules, one module for each. A module has the name of its finding; the order of rules has no effect."""

from importlib import import_module
from pkgutil import iter_modules

from kcli.rules.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    import_module(each.name).RULE
    for group in iter_modules(__path__, f"{__name__}.")
    if group.ispkg
    for each in iter_modules(import_module(group.name).__path__, f"{group.name}.")
)
