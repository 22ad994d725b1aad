"""A key and a self-signed certificate for the lab's TLS listeners, made with Java's keytool."""

import shutil
import subprocess
from pathlib import Path

from tests.real.maven import LIGHT, unavailable

__all__ = ["PASSWORD", "make", "properties"]

PASSWORD = "lab-secret"


def make(folder: Path) -> None:
    """`folder/broker.p12` (key and certificate, also the trust store) and `folder/broker.pem` (the certificate)."""
    store = ["-keystore", f"{folder}/broker.p12", "-storetype", "PKCS12", "-storepass", PASSWORD, "-alias", "broker"]
    name = ["-dname", "CN=localhost", "-ext", "SAN=ip:127.0.0.1,dns:localhost", "-ext", "BC=ca:true"]
    keytool("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "3650", *name, *store)
    keytool("-exportcert", "-rfc", "-file", str(folder / "broker.pem"), *store)


def properties(folder: Path) -> dict[str, object]:
    """The broker properties that use them."""
    store = {"location": folder / "broker.p12", "type": "PKCS12", "password": PASSWORD}
    values: dict[str, object] = {f"ssl.keystore.{name}": value for name, value in store.items()}
    return {**values, "ssl.key.password": PASSWORD}


def keytool(*arguments: str) -> None:
    if (program := shutil.which("keytool")) is None:
        unavailable("keytool (a Java 17 development kit) is not installed")
    done = subprocess.run(
        [program, *(f"-J{each}" for each in LIGHT), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
