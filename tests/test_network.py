"""Which certificates are in force on which system."""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
from pathlib import Path

import certifi
import pytest

from recjudge_tui.network import CERTIFICATE_VARIABLES, certificates, proxies, tls_context
from tests.support.servers.process import ROOT

CERTIFICATE = ROOT / "tests" / "support" / "servers" / "self_signed.pem"


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*CERTIFICATE_VARIABLES, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def shakes_hands(platform: str) -> bool:
    """Whether a connection to a server with the certificate that signs itself is made."""

    async def ask() -> None:
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(CERTIFICATE)

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=serving)
        port = server.sockets[0].getsockname()[1]
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls_context(platform))
            writer.close()
        finally:
            server.close()

    try:
        asyncio.run(ask())
    except ssl.SSLCertVerificationError:
        return False
    return True


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_an_authority_that_is_named_is_trusted_on_every_system(
    monkeypatch: pytest.MonkeyPatch, platform: str, variable: str
) -> None:
    assert not shakes_hands(platform)
    monkeypatch.setenv(variable, str(CERTIFICATE))
    assert shakes_hands(platform)
    assert str(certificates(platform)) == f"{variable}: {CERTIFICATE}"


def test_a_folder_may_be_named_by_either_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("REQUESTS_CA_BUNDLE", "SSL_CERT_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
        assert certificates().variable == variable
        assert tls_context().cert_store_stats()["x509_ca"] == 0


def test_a_file_of_certificates_is_read_again_when_it_is_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "authorities.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    shutil.copyfile(CERTIFICATE, path)
    before = tls_context().cert_store_stats()["x509"]
    assert tls_context() is tls_context()
    shutil.copyfile(certifi.where(), path)
    os.utime(path, ns=(1, 1))
    assert tls_context().cert_store_stats()["x509"] > before


def test_without_a_variable_the_system_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert str(certificates("darwin")) == str(certificates("win32")) == "the system's"
    paths = ssl.get_default_verify_paths()
    monkeypatch.setattr(
        ssl, "get_default_verify_paths", lambda: paths._replace(cafile=None, capath=str(tmp_path))
    )
    assert certificates("linux") == ("certifi", certifi.where())
    assert tls_context("linux").cert_store_stats()["x509_ca"] > 0
    (tmp_path / "5ed36f99.0").touch()
    assert str(certificates("linux")) == f"the system's: {tmp_path}"


def test_proxies_have_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:planted-key@proxy.test:3128")
    monkeypatch.setenv("ALL_PROXY", "user:planted-key@other.test:1")
    assert proxies() == {"https": "http://proxy.test:3128", "all": "other.test:1"}
