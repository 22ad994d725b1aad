"""The examples of deploy/: commands and options that there are, files that their readers take."""

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcli.proxy.policy import OPEN, read_policy
from tests.commands import commands

DEPLOY = Path(__file__).parents[1] / "deploy"
ANALYZE = shutil.which("systemd-analyze")
OPTIONS = {name: {word for param in command.params for word in param.opts} for name, command in commands()}


def check(words: list[str]) -> None:
    """Assert that a command line of kcli has only options that there are."""
    given = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
    assert given and not given - OPTIONS[words[0]]


def unit() -> configparser.ConfigParser:
    made = configparser.ConfigParser(interpolation=None, strict=False)
    made.optionxform = str  # type: ignore[assignment,method-assign]
    made.read_string((DEPLOY / "kcli-proxy.service").read_text().replace("\\\n", " "))
    return made


def test_the_unit_of_systemd_starts_and_reloads_the_proxy() -> None:
    words = shlex.split(unit()["Service"]["ExecStart"])
    assert words[:2] == ["/usr/bin/env", "kcli"]
    check(words[2:])
    assert unit()["Service"]["ExecReload"] == "/bin/kill -HUP $MAINPID"


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
def test_systemd_has_nothing_to_say_of_it() -> None:
    assert ANALYZE is not None
    command = [ANALYZE, "verify", "--man=no", str(DEPLOY / "kcli-proxy.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "kcli-proxy.service" not in done.stderr, done.stderr


def kubernetes() -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())}


def test_the_objects_of_kubernetes_fit_together(tmp_path: Path) -> None:
    found = kubernetes()
    assert {kind: each["apiVersion"] for kind, each in found.items()} == {
        "ConfigMap": "v1", "Service": "v1", "Deployment": "apps/v1",
    }  # fmt: skip
    assert all(re.fullmatch(r"[a-z0-9-]+", each["metadata"]["name"]) for each in found.values())
    spec = found["Deployment"]["spec"]
    labels, pod = spec["template"]["metadata"]["labels"], spec["template"]["spec"]
    assert spec["selector"]["matchLabels"] == found["Service"]["spec"]["selector"] == labels
    [container] = pod["containers"]
    check(container["args"])
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert {each["name"]: each["port"] for each in found["Service"]["spec"]["ports"]} == ports
    options = dict(word[2:].split("=", 1) for word in container["args"] if "=" in word)
    assert options["listen"] == f":{ports['bootstrap']}" and options["metrics"] == f":{ports['metrics']}"
    assert all(ports[f"broker-{node}"] == ports["bootstrap"] + 1 + node for node in range(3))
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/ready")):
        assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
    mounted = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounted.keys() == {each["name"] for each in pod["volumes"]}
    [(file, text)] = found["ConfigMap"]["data"].items()
    assert options["policy"] == f"{mounted['policy']}/{file}"
    (tmp_path / file).write_text(text)
    assert read_policy(str(tmp_path / file), OPEN).networks


def test_the_policy_is_one() -> None:
    made = read_policy(str(DEPLOY / "policy.toml"), OPEN)
    assert made.admits("10.1.2.3") and not made.admits("192.0.2.1") and made.connections == 2000
