"""The options of payloads: the sources of schemas, and the schemas and formats of topics."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class PayloadOptions:
    """The options of decoding payloads. on: decode all payloads with a known schema or format.

    Schemas and formats are "TOPIC=FILE", or FILE for all topics. registry_config: properties by Confluent's names,
    "KEY=VALUE" or files; schemas: files and folders of schemas
    """

    on: bool = False
    registry: str | None = None
    registry_config: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    value_schemas: tuple[str, ...] = ()
    key_schemas: tuple[str, ...] = ()
    value_formats: tuple[str, ...] = ()
    key_formats: tuple[str, ...] = ()
    flatten: bool = False
    secrets: bool = False

    @property
    def wanted(self) -> bool:
        """Return whether any payloads are to be decoded."""
        return bool(
            self.on or self.registry or self.schemas or self.flatten or self.value_schemas or self.key_schemas
            or self.value_formats or self.key_formats
        )  # fmt: skip

    @property
    def storable(self) -> PayloadOptions:
        """Return the options without possible passwords: the user of the URL, and properties that are no files."""
        scheme, slashes, rest = (self.registry or "").partition("://")
        place, slash, path = rest.partition("/")
        url = f"{scheme}{slashes}{place.rpartition('@')[2]}{slash}{path}"
        files = tuple(each for each in self.registry_config if "=" not in each)
        return replace(self, registry=url or None, registry_config=files)
