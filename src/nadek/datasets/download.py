"""Download a file over HTTP, going on where an earlier try stopped."""

from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

Progress = Callable[[int, int | None], None]

_CHUNK = 1 << 16


def download(url: str, part: Path, *, progress: Progress | None = None, timeout: float = 30.0) -> None:
    """Bring the file at `url` to `part`, asking only for the bytes that `part` does not hold yet.

    A server that cannot answer with a range sends the whole file, which then replaces `part`.

    Args:
        url: Address of the file.
        part: Where its bytes go; what is there already is taken as the start of the file.
        progress: Called with the bytes there and the bytes in all (None when the server does not say).
        timeout: Seconds without an answer after which to give up.

    Raises:
        ConnectionError: The network, the server, or a file that ended early; the bytes that came are kept.
    """
    have = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"User-Agent": "nadek"} | ({"Range": f"bytes={have}-"} if have else {}))
    try:
        with urlopen(request, timeout=timeout) as response:
            _save(response, part, have, progress)
    except HTTPError as error:
        with error:
            size = error.headers.get("Content-Range", "").removeprefix("bytes */")
        if error.code != 416 or not have:
            raise _failed(url, str(error)) from error
        if size != str(have):  # 416 with this very size says that all is there; with another, that `part` is no start
            part.unlink()
            download(url, part, progress=progress, timeout=timeout)
    except URLError as error:
        raise _failed(url, str(error.reason)) from error
    except (HTTPException, TimeoutError, ConnectionError) as error:
        raise _failed(url, str(error) or type(error).__name__) from error


def _save(response: HTTPResponse, part: Path, have: int, progress: Progress | None) -> None:
    resumed = response.status == 206
    if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        raise HTTPException("the server answered with another range than was asked for")
    done = have if resumed else 0
    length = response.headers.get("Content-Length")
    total = None if length is None else done + int(length)
    with part.open("ab" if resumed else "wb") as stream:
        while chunk := response.read(_CHUNK):
            stream.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
    if total is not None and done < total:  # `read` reports an early end as the end
        raise HTTPException(f"the connection ended after {done:,} of {total:,} bytes")


def _failed(url: str, reason: str) -> ConnectionError:
    return ConnectionError(f"could not download {url}: {reason}")
