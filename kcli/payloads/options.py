"""The options of payloads: the place of schemas, and the schemas of topics."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class PayloadOptions:
    """on: decode what can be, by whatever is known. Schemas and formats: "TOPIC=FILE", or FILE for all topics.

    registry_config: properties by Confluent's names, "KEY=VALUE" or files. schemas: files and folders of schemas."""

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
        """Return whether payloads are to be decoded at all."""
        return bool(
            self.on or self.registry or self.schemas or self.flatten or self.value_schemas or self.key_schemas
            or self.value_formats or self.key_formats
        )  # fmt: skip

    @property
    def storable(self) -> PayloadOptions:
        """Return them without what may be a password: the user of the URL, and properties that are no files."""
        scheme, slashes, rest = (self.registry or "").partition("://")
        place, slash, path = rest.partition("/")
        url = f"{scheme}{slashes}{place.rpartition('@')[2]}{slash}{path}"
        files = tuple(each for each in self.registry_config if "=" not in each)
        return replace(self, registry=url or None, registry_config=files)
