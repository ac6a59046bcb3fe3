"""The example of the digits runs and draws."""

import sys

import digits
import pytest

from nadek.checkpoints import load

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_demo_compares_models_and_draws(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(digits.NADE_K["model"], "core", {"kind": "deep", "hidden": [8, 8]})  # smaller
    monkeypatch.setitem(digits.NADE["model"], "core", {"kind": "deep", "hidden": [8], "activation": "sigmoid"})
    monkeypatch.setattr(sys, "argv", ["digits.py", "--epochs", "2", "-o", str(tmp_path)])
    digits.main()
    out = capsys.readouterr().out
    for text in ("independent pixels", "Chow-Liu tree", "NADE, fixed order", "NADE-5", "mixture of 32"):
        assert text in out
    assert f"  {tmp_path / 'samples.png'}" in out.splitlines()
    assert load(tmp_path / "nade-5").steps == 5
    assert (tmp_path / "samples.png").read_bytes().startswith(PNG)
