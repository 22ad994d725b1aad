import pytest

from kcli.client.jaas import parse_jaas
from kcli.errors import UsageError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('username="alice" password="alice-secret"', {"username": "alice", "password": "alice-secret"}),
        ("username='alice' password=secret", {"username": "alice", "password": "secret"}),
        ('password="a \\"quoted\\" \\\\ one; = "', {"password": 'a "quoted" \\ one; = '}),
        ("\n  username = alice\n  ", {"username": "alice"}),
        ('username="=" password=";"', {"username": "=", "password": ";"}),
        ("", {}),
    ],
)
def test_options(options: str, expected: dict[str, str]) -> None:
    module = parse_jaas(f"{PLAIN} required {options};")
    assert (module.name, module.flag, module.options) == (PLAIN, "required", expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a login module class and a flag"),
        (f"{PLAIN};", "one of required"),
        (f"{PLAIN} needed;", "one of required"),
        (f"{PLAIN} required", "must end in ';'"),
        (f'{PLAIN} required username="alice;', "a quoted value is not closed"),
        (f"{PLAIN} required username;", "options are name="),
        (f"{PLAIN} required a=b; {PLAIN} required;", "a second one follows"),
    ],
)
def test_what_is_not_jaas_is_said(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_jaas(text)


def test_secrets_stay_out_of_its_repr() -> None:
    assert "hush" not in repr(parse_jaas(f"{PLAIN} required password=hush;"))
