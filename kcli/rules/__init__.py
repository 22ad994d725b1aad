"""All rules. A module each, named as its finding, in the packages here; the order counts for nothing."""

from importlib import import_module
from pkgutil import iter_modules

from kcli.rules.rule import Rule

GROUPS = ("access", "brokers", "consumers", "groups", "network", "producers")
RULES: tuple[Rule, ...] = tuple(
    import_module(each.name).RULE
    for group in GROUPS
    for each in iter_modules(import_module(f"{__name__}.{group}").__path__, f"{__name__}.{group}.")
)
