"""nadek.datasets: loading, checking, fetching, and the checksums that hold them together."""

import hashlib
import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from nadek import datasets
from nadek.datasets import check, fetch, load
from nadek.datasets.amat import parse_bits
from nadek.datasets.folder import content_sha256, read_packed, write_packed
from nadek.datasets.sources import Source, find

DATA = Path(os.environ.get("NADEK_DATA") or Path(__file__).parents[3] / "shared" / "data")
DOWNLOADS = [name for name in datasets.names() if name != "digits"]


def real(name):
    """The real data set, or a skip with the reason."""
    if check(name, DATA).state == "not there":
        pytest.skip(f"no {name} in {DATA}; set NADEK_DATA")
    return load(name, DATA)


def bits(rows, dim, seed=0):
    return (np.random.default_rng(seed).random((rows, dim)) < 0.4).astype(np.uint8)


def as_text(values):
    return "".join(" ".join(map(str, row)) + "\n" for row in values.tolist()).encode()


# A small made-up data set, in each of the published forms

PARTS = (bits(700, 16, 1), bits(30, 16, 2), bits(50, 16, 3))
TEXTS = {f"toy.{part}.txt": as_text(values) for part, values in zip(("train", "valid", "test"), PARTS, strict=True)}
COMMAS = {name: text.replace(b" ", b",") for name, text in TEXTS.items()}


def toy_source(texts, *, checksums=True):
    raw = {
        f"http://nowhere.invalid/{name}": hashlib.sha256(text).hexdigest() if checksums else None
        for name, text in texts.items()
    }
    sizes = tuple(len(part) for part in PARTS)
    return Source("toy", "a made-up set", sizes, 16, content_sha256(PARTS), file="toy.npz", published=raw)


TOY = toy_source(TEXTS)


def at(url, source):
    """A source whose published files lie at another address."""
    published = {f"{url}/{public.rsplit('/', 1)[-1]}": digest for public, digest in source.published.items()}
    return replace(source, published=published)


@pytest.fixture
def packed(tmp_path):
    """A folder that holds the made-up set."""
    write_packed(tmp_path / "toy.npz", PARTS)
    return tmp_path


class Handler(BaseHTTPRequestHandler):
    """Serves `server.files`; `server.cut[name]` ends an answer after so many bytes, once."""

    def do_GET(self):  # noqa: D102 - the name that http.server calls
        server, name = self.server, self.path.lstrip("/")
        server.requested.append(name)
        if name not in server.files:
            self.send_error(404)
            return
        body = server.files[name]
        self.send_response(200)
        if server.sized:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: server.cut.pop(name, len(body))])

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture
def server(monkeypatch):
    """A web server on this machine."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files, running.cut, running.requested, running.sized = dict(TEXTS), {}, [], True
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def assert_parts_equal(left, right):
    for a, b in zip(left, right, strict=True):
        assert a.dtype == b.dtype == np.uint8
        np.testing.assert_array_equal(a, b)


# Names


def test_names():
    assert datasets.names() == (
        *("digits", "mnist", "caltech101", "nltcs", "kdd", "plants", "accidents", "tretail", "dna", "book", "ad"),
    )


@pytest.mark.parametrize("use", [load, check, lambda name: fetch(name, "nowhere")])
def test_unknown_name(use):
    with pytest.raises(ValueError, match=r"expected a data set out of digits, mnist, .*, ad; found 'xyz'$"):
        use("xyz")


@pytest.mark.parametrize(("typed", "meant"), [("mnst", "mnist"), ("MNIST", "mnist"), ("iris", None)])
def test_unknown_name_suggests_close_one(typed, meant):
    hint = "" if meant is None else rf" \(did you mean '{meant}'\?\)"
    with pytest.raises(ValueError, match=rf", ad; found '{typed}'{hint}$"):
        load(typed)


def test_sources_are_complete():
    for name in DOWNLOADS:
        source = find(name)
        assert len(source.sha256) == 64
        assert len(source.published) == (1 if name == "caltech101" else 3)
        assert source.file.endswith(".npz")


# digits


def test_digits_are_those_of_scikit_learn():
    # In a process of its own: scikit-learn is heavy, and imports more than a test run should see.
    code = "from sklearn.datasets import load_digits; import sys; sys.stdout.buffer.write(load_digits().data.tobytes())"
    gray = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    expected = (np.frombuffer(gray).reshape(-1, 64) >= 8).astype(np.uint8)
    digits = load("digits")
    found = np.concatenate([digits.train, digits.valid, digits.test])
    assert not np.array_equal(found, expected)  # shuffled
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


def test_digits_need_no_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("NADEK_DATA", raising=False)
    status = check("digits")
    assert (status.state, status.path) == ("ok", None)
    with pytest.raises(ValueError, match="'digits' needs no file: there is nothing to fetch"):
        fetch("digits", tmp_path)


def test_import_leaves_scikit_learn_alone():
    code = "import nadek.datasets, sys; nadek.datasets.load('digits'); sys.exit('sklearn' in sys.modules)"
    path = str(Path(datasets.__file__).parents[2])
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}).returncode == 0


# The packed form and its checksum


@pytest.mark.parametrize("dim", [1, 7, 8, 9, 16, 31])
def test_packed_form_comes_back(tmp_path, dim):
    parts = (bits(5, dim, 1), bits(3, dim, 2), bits(1, dim, 3))
    write_packed(tmp_path / "t.npz", parts)
    assert_parts_equal(read_packed(tmp_path / "t.npz"), parts)


def test_checksum_does_not_depend_on_compression(packed):
    arrays = {name: np.packbits(part, axis=1) for name, part in zip(("train", "valid", "test"), PARTS, strict=True)}
    np.savez(packed / "plain.npz", dim=16, **arrays)
    assert (packed / "plain.npz").read_bytes() != (packed / "toy.npz").read_bytes()
    assert content_sha256(read_packed(packed / "plain.npz")) == TOY.sha256


@pytest.mark.parametrize("part", [0, 1, 2])
def test_checksum_sees_every_part(part):
    changed = [values.copy() for values in PARTS]
    changed[part][-1, -1] ^= 1
    assert content_sha256(tuple(changed)) != TOY.sha256


def test_checksum_sees_where_a_part_ends():
    train, valid, test = PARTS
    assert content_sha256((train[:-1], np.concatenate([train[-1:], valid]), test)) != TOY.sha256


@pytest.mark.parametrize(
    "arrays",
    [
        {"dim": 16},
        {"dim": 16, "train": np.zeros((2, 2)), "valid": PARTS[1], "test": PARTS[2]},
        {"dim": 16, "train": np.array([None]), "valid": PARTS[1], "test": PARTS[2]},
        {"dim": 16, "train": PARTS[0], "valid": PARTS[1]},
        {"dim": [1, 2], "train": PARTS[0], "valid": PARTS[1], "test": PARTS[2]},
    ],
)
def test_packed_form_of_another_kind(tmp_path, arrays):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=r"t\.npz: expected an npz of packed bits with dim, train, valid, test: "):
        read_packed(tmp_path / "t.npz")


# load and check


def test_load(packed):
    toy, status = load(TOY, packed), check(TOY, packed)
    assert (status.source, status.state, status.path) == (TOY, "ok", packed / "toy.npz")
    assert_parts_equal((toy.train, toy.valid, toy.test), PARTS)
    assert (toy.name, toy.title, toy.image_shape) == ("toy", "a made-up set", None)
    assert toy.columns == tuple(f"x{i}" for i in range(16))
    image = load(replace(TOY, image_shape=(4, 4)), packed)
    assert image.image_shape == (4, 4)
    assert (image.columns[0], image.columns[-1]) == ("pixel_r0_c0", "pixel_r3_c3")


def test_argument_wins_over_the_environment(packed, monkeypatch):
    monkeypatch.setenv("NADEK_DATA", "/nowhere")
    assert load(TOY, str(packed)).train.flags.writeable
    monkeypatch.setenv("NADEK_DATA", str(packed))
    assert len(load(TOY).train) == 700


@pytest.mark.parametrize("value", [None, ""])
def test_load_without_a_folder(monkeypatch, value):
    monkeypatch.delenv("NADEK_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("NADEK_DATA", value)
    said = r"'mnist' lies in a data folder, and none is given: .* NADEK_DATA; `nadek data --fetch mnist --data-dir DIR`"
    with pytest.raises(FileNotFoundError, match=said):
        load("mnist")
    status = check("mnist")
    assert (status.state, status.path) == ("not there", None)


@pytest.mark.parametrize("name", DOWNLOADS)
def test_load_what_is_not_there(tmp_path, name):
    file = tmp_path / find(name).file
    with pytest.raises(FileNotFoundError) as error:
        load(name, tmp_path)
    assert str(error.value) == (
        f"{file}: the data set {name!r} is not there; fetch it with `nadek data --fetch {name} --data-dir {tmp_path}`, "
        "or name the folder that has it in the environment variable NADEK_DATA"
    )
    status = check(name, tmp_path)
    assert (status.state, status.path) == ("not there", file)


def test_load_what_differs(tmp_path):
    changed = (1 - PARTS[0], *PARTS[1:])
    write_packed(tmp_path / "toy.npz", changed)
    with pytest.raises(ValueError, match="expected") as error:
        load(TOY, tmp_path)
    assert str(error.value) == (
        f"{tmp_path / 'toy.npz'}: expected the SHA-256 {TOY.sha256[:16]}..., found {content_sha256(changed)[:16]}... "
        f"of the content; delete it and fetch it again with `nadek data --fetch toy --data-dir {tmp_path}`"
    )
    assert check(TOY, tmp_path).state == "differs"


@pytest.mark.parametrize("keep", [0, 100, -30])
def test_load_what_is_broken(packed, keep):
    data = (packed / "toy.npz").read_bytes()
    (packed / "toy.npz").write_bytes(data[:keep])
    with pytest.raises(
        ValueError, match=r"toy\.npz: expected an npz .*; delete it and fetch it again with `nadek"
    ) as error:
        load(TOY, packed)
    assert "\n" not in str(error.value)
    assert check(TOY, packed).state == "differs"


# Rows of 0 and 1 as text


FORMS = {
    "plain": b"0 1 1\n1 0 0\n",
    "no last line end": b"0 1 1\n1 0 0",
    "trailing spaces": b"0 1 1 \n1 0 0 \n",
    "tabs and indents": b"  0\t1  1\n1 0\t\t0\n",
    "windows": b"0 1 1\r\n1 0 0\r\n",
    "old mac": b"0 1 1\r1 0 0\r",
    "blank lines": b"\n0 1 1\n\n  \n1 0 0\n\n\n",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_parse_bits(text):
    np.testing.assert_array_equal(parse_bits(text, name="t"), [[0, 1, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "t: expected rows of 0 and 1, found none"),
        (b"0 1\n1 2\n", "t: row 2, column 2: expected 0 or 1, found '2'"),
        (b"01\n10\n", "t: row 1, column 1: expected 0 or 1, found '01'"),
        (b"0 1\n\n0 1 1\n", "t: row 2: expected 2 values, found 3"),
        (b"<!DOCTYPE html>\n<p>\n", "t: row 1, column 1: expected 0 or 1, found '<!DOCTYPE'"),
        (b"\xff\xfe0 1", "t: row 1, column 1: expected 0 or 1, found '\ufffd\ufffd0'"),
    ],
)
def test_parse_bits_names_what_is_wrong(text, said):
    with pytest.raises(ValueError, match="expected") as error:
        parse_bits(text, name="t")
    assert str(error.value) == said


# fetch


def test_fetch_from_text(server, tmp_path):
    assert fetch(at(server.url, TOY), tmp_path / "new" / "folder") == tmp_path / "new" / "folder" / "toy.npz"
    toy = load(TOY, tmp_path / "new" / "folder")
    assert_parts_equal((toy.train, toy.valid, toy.test), PARTS)
    assert [p.name for p in (tmp_path / "new" / "folder").iterdir()] == ["toy.npz"]


def test_fetch_from_commas(server, tmp_path):
    server.files = dict(COMMAS)
    source = toy_source(COMMAS, checksums=False)
    fetch(at(server.url, source), tmp_path)
    assert check(source, tmp_path).state == "ok"


def matlab(path, parts):
    """Write as the published file has them: pixels column by column."""
    turned = [part.reshape(-1, 4, 4).transpose(0, 2, 1).reshape(-1, 16) for part in parts]
    savemat(path, dict(zip(("train_data", "val_data", "test_data"), turned, strict=True)), do_compression=True)


def test_fetch_from_matlab(server, tmp_path):
    matlab(tmp_path / "made.mat", PARTS)
    server.files = {"toy.mat": (tmp_path / "made.mat").read_bytes()}
    source = toy_source(server.files)
    fetch(at(server.url, source), tmp_path / "data")
    assert check(source, tmp_path / "data").state == "ok"


def test_fetch_skips_present_set(server, packed):
    fetch(at(server.url, TOY), packed)
    assert server.requested == []
    (packed / "toy.npz").write_bytes(b"broken")
    fetch(at(server.url, TOY), packed)
    assert check(TOY, packed).state == "ok"


@pytest.mark.parametrize("sized", [True, False])
def test_fetch_reports_progress(server, tmp_path, sized, monkeypatch):
    monkeypatch.setattr("nadek.datasets.download.CHUNK", 8000)
    server.sized, heard = sized, []
    fetch(at(server.url, TOY), tmp_path, progress=lambda done, total: heard.append((done, total)))
    if sized:
        assert list(dict.fromkeys(heard)) == [
            *[(done, 22400) for done in (8000, 16000, 22400)],
            (960, 960),
            (1600, 1600),
        ]
    else:
        assert heard[:2] == [(8000, None), (16000, None)]


def test_interrupted_fetch_says_what_to_do(server, tmp_path):
    server.cut["toy.valid.txt"] = 300
    with pytest.raises(ConnectionError) as error:
        fetch(at(server.url, TOY), tmp_path)
    assert re.match(f"could not download {server.url}/toy.valid.txt: .*300 bytes read", str(error.value))
    by_hand = f"; try it again, or download the file by hand and put it at {tmp_path / 'toy.valid.txt'}"
    assert str(error.value).endswith(by_hand)
    assert list(tmp_path.iterdir()) == []
    usual, server.files["toy.valid.txt"] = server.files["toy.valid.txt"], b"0 1\n"
    with pytest.raises(ValueError, match=rf"{server.url}/toy\.valid\.txt is not the published file: SHA256"):
        fetch(at(server.url, TOY), tmp_path)
    assert list(tmp_path.iterdir()) == []
    server.files["toy.valid.txt"] = usual
    fetch(at(server.url, TOY), tmp_path)
    assert check(TOY, tmp_path).state == "ok"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (COMMAS["toy.test.txt"].replace(b"1", b"0"), r"found [0-9a-f]{16}\.\.\. of the content; it is not the publish"),
        (b"<html>please log in</html>\n", r"toy\.test\.txt: row 1, column 1: expected 0 or 1, found '<html>"),
    ],
)
def test_content_with_a_wrong_checksum(content, message, server, tmp_path):
    server.files = {**COMMAS, "toy.test.txt": content}
    with pytest.raises(ValueError, match=message):
        fetch(at(server.url, toy_source(COMMAS, checksums=False)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_fetch_without_file_or_server(server, tmp_path):
    del server.files["toy.test.txt"]
    with pytest.raises(ConnectionError, match=r"toy\.test\.txt: 404 .*; try it again, or download the file by hand"):
        fetch(at(server.url, TOY), tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as gone:
        url = f"http://127.0.0.1:{gone.server_port}"
    with pytest.raises(ConnectionError, match=r"could not download http://127\.0\.0\.1:.* put it at .*txt$"):
        fetch(at(url, TOY), tmp_path)


def test_file_put_by_hand_is_used(server, tmp_path):
    (tmp_path / "toy.train.txt").write_bytes(TEXTS["toy.train.txt"])
    fetch(at(server.url, TOY), tmp_path)
    assert server.requested == ["toy.valid.txt", "toy.test.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["toy.npz", "toy.train.txt"]


def test_wrong_file_by_hand_is_refused(server, tmp_path):
    (tmp_path / "toy.train.txt").write_bytes(b"mine")
    with pytest.raises(ValueError, match=r"toy\.train\.txt: expected the SHA-256 .*; it is not the published file"):
        fetch(at(server.url, TOY), tmp_path)
    assert (tmp_path / "toy.train.txt").read_bytes() == b"mine"


def test_fetch_knows_the_public_names(server, tmp_path):
    with pytest.raises(ConnectionError, match="404"):
        fetch(at(server.url, find("tretail")), tmp_path)
    assert server.requested == ["tretail.train.data"]


# Real data


@pytest.mark.parametrize("name", DOWNLOADS)
def test_real_set(name):
    data = real(name)  # verifies the checksum
    status = check(name, DATA)
    assert status.state == "ok"
    source, parts = status.source, (data.train, data.valid, data.test)
    assert tuple(len(part) for part in parts) == source.rows
    assert {part.shape[1] for part in parts} == {source.dim} == {len(data.columns)}
    assert max(part.max() for part in parts) == 1


def test_caltech_is_upright():
    images = real("caltech101").train.reshape(-1, 28, 28)
    border = np.concatenate([images[:, 0], images[:, -1]], axis=1).mean()
    assert border > images[:, 8:20, 8:20].mean()
    # 11 test rows also occur in train.
    data = real("caltech101")
    train = {row.tobytes() for row in data.train}
    assert sum(row.tobytes() in train for row in data.test) == 11
