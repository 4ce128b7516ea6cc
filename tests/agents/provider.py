"""A provider of logins and models on loopback: it takes each refresh token once, and its model plays a script.

It is a proxy as well, for agents whose provider cannot be set: it answers for the hosts of real providers, with
certificates of an authority that only the test trusts.
"""

from __future__ import annotations

import json
import ssl
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from agents.fakes import ModelServer, Script

__all__ = ["Provider", "providing", "token"]

_HOSTS = ("api.anthropic.com", "platform.claude.com")
_MODELS = frozenset({"/v1/messages", "/v1/responses"})
_SECONDS = 28_800


def token(name: str, seconds: float) -> str:
    """A token of the form that Codex reads, which says when it ends."""
    ends = int(datetime.now(UTC).timestamp() + seconds)
    account = {"chatgpt_account_id": "account", "chatgpt_user_id": "person", "chatgpt_plan_type": "plus"}
    claims = {"sub": "person", "name": name, "exp": ends, "https://api.openai.com/auth": account}
    return ".".join(_part(one) for one in ({"alg": "none"}, claims, {}))


def _part(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


class Provider:
    """What the agents were given and asked for; `current` is the only access token that the model accepts."""

    def __init__(self, current: str, refresh: str, script: Script) -> None:
        self.current = current
        self.refresh = refresh
        self.model = ModelServer(script)
        self.refused: list[str] = []
        """The refresh tokens that were not, or no longer, good."""
        self.bearers: list[str] = []
        """The access tokens with which the model was asked."""
        self.url = ""
        self.environment: Mapping[str, str] = {}
        """The variables that lead an agent here for the hosts of real providers."""

    def answer(self, method: str, path: str, bearer: str, body: bytes) -> tuple[int, bytes]:
        """The answer to a request."""
        path = urlsplit(path).path
        if path.endswith("/oauth/token") and method == "POST":
            return self._granted(body)
        if path in _MODELS and method == "POST":
            self.bearers.append(bearer)
            if bearer != self.current:
                error = {"type": "authentication_error", "code": "token_expired", "message": "The token has expired."}
                return 401, json.dumps({"type": "error", "error": error}).encode()
            return 200, self.model.answer(path, json.loads(body))
        return 404, b"{}"

    def _granted(self, body: bytes) -> tuple[int, bytes]:
        asked: dict[str, Any] = json.loads(body)
        if asked["refresh_token"] != self.refresh:
            self.refused.append(asked["refresh_token"])
            return 400, b'{"error": "invalid_grant"}'
        self.refresh += "+"
        self.current = token(self.refresh, _SECONDS)
        given = {"access_token": self.current, "id_token": self.current, "refresh_token": self.refresh}
        return 200, json.dumps({**given, "expires_in": _SECONDS, "scope": "user:inference user:profile"}).encode()


@contextmanager
def providing(directory: Path, current: str, refresh: str, script: Script) -> Iterator[Provider]:
    """Serve a provider; the certificate of its authority is a file in a directory that agents can read."""
    provider = Provider(current, refresh, script)
    context = _certified(directory)
    with provider.model, ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider, context)) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        provider.url = f"http://127.0.0.1:{server.server_address[1]}"
        authority = str(directory / "authority.pem")
        provider.environment = {
            "HTTPS_PROXY": provider.url,
            "NODE_EXTRA_CA_CERTS": authority,
            "SSL_CERT_FILE": authority,
        }
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()


def _handler(provider: Provider, context: ssl.SSLContext) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_CONNECT(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            with suppress(OSError), context.wrap_socket(self.connection, server_side=True) as secured:
                Handler(secured, self.client_address, self.server)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
            status, answer = provider.answer(self.command, self.path, bearer, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if answer[:1] == b"{" else "text/event-stream")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST  # noqa: N815 the name that the server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler


def _certified(directory: Path) -> ssl.SSLContext:
    """What makes connections as the hosts of real providers."""
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tests of Interlock")])
    present = datetime.now(UTC)

    def certificate(of: ec.EllipticCurvePrivateKey, subject: x509.Name, *, is_authority: bool) -> bytes:
        builder = x509.CertificateBuilder(name, subject, of.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(present - timedelta(days=1)).not_valid_after(present + timedelta(days=1))
        if is_authority:
            builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        else:
            names = x509.SubjectAlternativeName([x509.DNSName(one) for one in _HOSTS])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM)

    (directory / "authority.pem").write_bytes(certificate(authority, name, is_authority=True))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _HOSTS[0])])
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    own = directory / "own.pem"
    own.write_bytes(secret + certificate(key, subject, is_authority=False))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    return context
