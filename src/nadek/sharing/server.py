"""The page to play on, served to this machine only.

The page asks for conditional passes: ``POST /logits`` has codes of rows, NaN where missing; the answer is [steps, rows,
C]. Both are float32.
"""

import json
import sys
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from nadek.checkpoints import SavedModel
from nadek.models.base import ConditionalModel
from nadek.models.evaluation import evaluation_mode
from nadek.models.model_config import check_every_ordering
from nadek.sharing.export import describe

PAGE = Path(__file__).with_name("page")
MOST_BYTES = 2**18  # of a request; the page asks in parts


def make_server(saved: SavedModel, name: str, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the page, on the loopback address; port 0 takes a free one."""
    check_every_ordering(saved.model.config, name)
    handler = partial(_Handler, saved.model, {"name": name, **describe(saved)})
    return _Server(("127.0.0.1", port), handler)


@evaluation_mode
def _logits(model: ConditionalModel, codes: Float[Tensor, "B D"]) -> Float[Tensor, "k B C"]:
    return torch.stack(model(codes, codes.isnan())).float()


class _Server(ThreadingHTTPServer):
    """Server without messages about broken requests."""

    def handle_error(self, *request: Any) -> None:  # noqa: ANN401
        if not isinstance(sys.exc_info()[1], OSError | ValueError):
            super().handle_error(*request)


class _Handler(SimpleHTTPRequestHandler):
    """Sends files of the page, and logits."""

    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True
    timeout = 60  # seconds that a connection may be silent

    def __init__(self, model: ConditionalModel, about: dict[str, Any], *connection: Any) -> None:  # noqa: ANN401
        self._model, self._about = model, about
        super().__init__(*connection, directory=str(PAGE))

    def parse_request(self) -> bool:
        """Refuse foreign pages: their names may lead here."""
        is_whole = super().parse_request()
        hosts = [f"{name}:{self.connection.getsockname()[1]}" for name in ("127.0.0.1", "localhost")]
        origins = [None, *(f"http://{host}" for host in hosts)]
        is_own = is_whole and self.headers["Host"] in hosts and self.headers["Origin"] in origins
        if is_whole and not is_own:
            self.send_error(HTTPStatus.FORBIDDEN)
        return is_own

    def do_GET(self) -> None:
        if self.path == "/models.json":
            self._send(json.dumps([self._about]).encode())
        else:
            super().do_GET()

    def do_POST(self) -> None:
        length, row = self.headers["Content-Length"] or "", 4 * self._model.n_variables
        if length.isdecimal() and int(length) in range(row, MOST_BYTES + 1, row):
            codes = torch.frombuffer(bytearray(self.rfile.read(int(length))), dtype=torch.float32).view(-1, row // 4)
            self._send(_logits(self._model, codes.to(self._model.b)).numpy().tobytes())
        else:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected rows of {row} bytes, at most {MOST_BYTES}")

    def log_message(self, *_: object) -> None:
        """Say nothing about requests."""

    def _send(self, content: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
