"""Opens the catalog of the stock tables, or the same with a dialect laid over it."""

import os

from kcli.schemas.lookup import STOCK, Catalog

catalogs: dict[str | os.PathLike[str] | None, Catalog] = {}


def catalog(dialect: str | os.PathLike[str] | None = None) -> Catalog:
    """Return the stock tables, or those with a dialect: the name of one that comes with kcli, or a directory of
    definitions.

    Later calls return the same object. Raises UsageError for an unknown dialect, SchemaError for invalid definitions.
    """
    found = catalogs.get(dialect)
    if found is None:
        found = Catalog.open(STOCK)
        if dialect is not None:
            from kcli.arguments import need
            from kcli.schemas.dialects import lay_over

            need("dialect", dialect, (str, os.PathLike), "a name or a directory")
            found = lay_over(found, os.fspath(dialect))
        catalogs[dialect] = found
    return found
