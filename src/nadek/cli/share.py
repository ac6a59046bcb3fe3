"""``nadek export`` and ``nadek play``: models outside of Python."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from nadek.checkpoints import load_saved
from nadek.cli.arguments import Force, ModelArgument, check_file
from nadek.cli.console import say
from nadek.sharing.export import export_onnx
from nadek.sharing.server import make_server

Output = Annotated[Path, typer.Option("--output", "-o", help="File to write: .onnx.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of this machine; 0 takes a free one.")]


def export(model: ModelArgument, *, output: Output = Path("model.onnx"), force: Force = False) -> None:
    """Write a model as a file of ONNX.

    It answers for any number of rows: codes and a mask in, the logits after every step out. Needs the extra onnx.

    Example: [bold]nadek export model -o model.onnx[/]
    """
    check_file(output, (".onnx",), force=force)
    export_onnx(load_saved(model), output)


def play(model: ModelArgument = Path("mnist-nade5-2hl"), *, port: Port = 0) -> None:
    """Serve a page to play with a model, on this machine only.

    Example: [bold]nadek play model[/]
    """
    with make_server(load_saved(model), model.name, port) as server, suppress(KeyboardInterrupt):
        say(f"{model} waits at http://127.0.0.1:{server.server_port} until Ctrl-C")
        server.serve_forever()
