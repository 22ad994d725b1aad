"""Templates: every field of every message, in a form that its writer takes."""

from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.vectors.template import template

PAIRED = [name for api in catalog().apis.values() for name in (api.request, api.response)]


def test_a_template_is_a_message() -> None:
    for name in PAIRED:
        message = catalog().message(name)
        for version in message.versions:
            made = template(message, version)
            codec = messages.data(name, version)
            fields = {field.name for field in message.fields if version in field.versions}
            assert set(made) == fields, (name, version)
            value, end = codec.read(data := codec.write(made))
            assert end == len(data) and set(value) >= set(made), (name, version)
