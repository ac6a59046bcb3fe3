"""Models outside of Python: files of ONNX, the server of the page, and the page in a real browser."""

import json
import os
import shutil
import socket
import struct
import subprocess
from contextlib import ExitStack, closing
from functools import partial
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest
import torch

from nadek import NADEk, load, sample
from nadek.checkpoints import SavedModel, load_saved, save
from nadek.sharing.export import export_onnx
from nadek.sharing.server import make_server
from nadek.tabular.schema import Schema
from support.command import nadek, ok
from support.models import seeded
from zoo import build

BUILD, DIGITS = Path(__file__).parents[2] / "build", "mnist-nade5-2hl"


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    town, smokes = rng.choice(["Bern", "Genf", "Ulm"], 300), rng.random(300) < 0.4
    age = rng.normal(50, 10, 300).round(2) + 20 * smokes
    table = pd.DataFrame({"town": town, "smokes": smokes, "coughs": smokes ^ (rng.random(300) < 0.1), "age": age})
    folder = tmp_path_factory.mktemp("people")
    NADEk(max_iter=30, training={"width": 32}, random_state=0).fit(table).save(folder)
    return folder


@pytest.fixture(scope="module")
def digits():
    return sample(load(DIGITS), 8, chunk=16, generator=seeded())


@pytest.mark.slow
@pytest.mark.parametrize("name", [DIGITS, "mnist-unet", "people", "confident"])
def test_onnx_matches_torch_under_random_masks(name, people, tmp_path, request):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    folder, path = people if name == "people" else name, tmp_path / "model.onnx"
    if name == "confident":
        folder = tmp_path
        save(folder, SavedModel(build("confident", 6), Schema()))
    program = export_onnx(load_saved(folder), path).module() if name != "people" else None
    if program is None:
        ok("export", folder, "-o", path)
    session, exact = runtime.InferenceSession(path), load(folder).double()
    facts = {key: json.loads(value) for key, value in session.get_modelmeta().custom_metadata_map.items()}
    assert (tuple(facts["levels"]), facts["steps"], facts["opset"]) == (exact.levels, exact.steps, 20)
    few = request.getfixturevalue("digits") if name.startswith("mnist") else sample(exact, 50, generator=seeded())
    rows = few.float().repeat(200 // len(few), 1)
    missing = torch.rand(rows.shape, generator=seeded()) < torch.rand(200, 1, generator=seeded(1))
    for x, hidden in zip(rows.split(25), missing.split(25), strict=True):
        logits = torch.from_numpy(session.run(None, {"x": x.numpy(), "missing": hidden.numpy()})[0])
        with torch.no_grad():
            torch.testing.assert_close(logits.double(), torch.stack(exact(x.double(), hidden)), rtol=1e-6, atol=1e-5)
            if program is not None:
                torch.testing.assert_close(logits, program(x, hidden), rtol=1e-6, atol=2e-5)


def test_missing_packages_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("nadek.sharing.export.find_spec", lambda _: None)
    refused = nadek("export", DIGITS, "-o", tmp_path / "model.onnx")
    assert refused.code == 1
    assert "pip install 'nade-k[onnx]'" in refused.err
    assert not (tmp_path / "model.onnx").exists()


@pytest.fixture
def port_of():
    with ExitStack() as stack:

        def serve(server):
            stack.enter_context(server)
            stack.callback(server.shutdown)
            Thread(target=server.serve_forever, daemon=True).start()
            return server.server_port

        yield serve


def answer(port, method, path, body=None, **headers):
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()


def test_server_answers_its_own_page_only(people, port_of):
    saved = load_saved(people)
    saved.model.train()  # the server leaves dropout out
    port = port_of(make_server(saved, "people"))
    assert answer(port, "GET", "/")[1].startswith(b"<!doctype html>")
    rows = torch.tensor([[2, torch.nan, 1, 3.5], [torch.nan] * 4])
    logits = answer(port, "POST", "/logits", rows.numpy().tobytes(), Origin=f"http://localhost:{port}")[1]
    with torch.no_grad():
        expected = torch.stack(saved.model.eval()(rows, rows.isnan()))
    np.testing.assert_allclose(np.frombuffer(logits, "f4").reshape(expected.shape), expected, atol=1e-6)
    for headers in ({"Host": f"evil.example:{port}"}, {"Host": "127.0.0.1"}, {"Origin": "http://evil.example"}):
        assert answer(port, "GET", "/", **headers)[0] == answer(port, "POST", "/", bytes(16), **headers)[0] == 403
    assert [answer(port, "POST", "/", bytes(size))[0] for size in (0, 15, 2**18 + 16)] == [413] * 3
    assert [answer(port, "GET", path)[0] for path in ("/../server.py", "/%2e%2e/server.py", "/page")] == [404] * 3


def test_server_outlives_odd_requests(people, port_of, capfd):
    port = port_of(make_server(load_saved(people), "people"))
    headers = f"HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length:"
    requests = (
        f"POST / {headers} 16\r\n\r\nabc",
        f"POST / {headers} {'9' * 5000}\r\n\r\n",
        f"GET /%00 {headers} 0\r\n\r\n",
    )
    for request in requests:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(request.encode())
            connection.shutdown(socket.SHUT_WR)
            assert b" 200 " not in connection.recv(100)
    with socket.create_connection(("127.0.0.1", port)) as connection:  # closed with a reset
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"GET / ")
    assert answer(port, "GET", "/")[0] == 200
    assert capfd.readouterr().err == ""


def suggestions(folder):
    model = NADEk.load(folder)
    names = list(model.feature_names_in_)
    person = pd.DataFrame([[None] * len(names)], columns=names, dtype=object)
    for answers, target in (([], None), ([[1, 0]], None), ([], 0)):
        for column, level in answers:
            person.iloc[0, column] = model.levels_[names[column]][level]
        gain = model.suggest_next(person, target=None if target is None else [names[target]]).iloc[0].to_numpy()
        best = max((j for j in range(len(names)) if j != target and gain[j] >= 0), key=gain.__getitem__)
        yield {"answers": answers, "target": target, "next": names[best], "gain": gain[best]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits", "survey"])
@pytest.mark.parametrize("engine", ["torch", "onnxruntime-web"])
def test_page_in_a_browser(name, engine, people, port_of, tmp_path):
    chromium, node = shutil.which("chromium"), shutil.which("node")
    if chromium is None or node is None:
        pytest.skip("needs chromium and node")
    if engine == "torch":
        server = make_server(load_saved(DIGITS if name == "digits" else people), name)
    elif (BUILD / "play" / "models.json").exists():
        people = BUILD / "play-parts" / "people"
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=BUILD / "play"))
    else:
        pytest.skip("needs the page for onnxruntime-web: make play")
    expected = json.dumps(list(suggestions(people)) if name == "survey" else None)
    arguments = [chromium, tmp_path, f"http://127.0.0.1:{port_of(server)}/#{name}", expected]
    command = [node, Path(__file__).with_name("page.mjs"), *arguments, os.environ.get("NADEK_PICTURES", "")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
