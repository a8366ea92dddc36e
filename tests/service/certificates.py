"""A certificate for localhost, made with the openssl program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def certificate(folder: Path) -> tuple[Path, Path]:
    """The files of a certificate that vouches for itself, and of its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the program openssl to make a certificate")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            openssl, "req", "-x509",
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ],
        check=True, capture_output=True, timeout=30,
    )  # fmt: skip
    return cert, key
