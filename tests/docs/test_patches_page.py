"""The examples of docs/patches.md run as they stand."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "patches.md").read_text(encoding="utf-8")


def test_the_python_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    found = re.findall(r"<!-- run -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(found) == 5
    for code in found:
        exec(code, names)
    share, asked, spent, drawn, first = capsys.readouterr().out.splitlines()
    assert float(share.split()[0]) > 0.94
    assert 3.5 < float(share.split()[2]) < 4.6
    assert "r" in asked
    assert "r" in spent
    assert "from the sketch alone" in drawn
    assert first == f"first {names['m'].session().ask().name}"
