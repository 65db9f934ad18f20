"""The command as a process of its own: exit codes, streams, signals and limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from full_disk import full_disk


def test_a_mistake_ends_with_two_and_no_traceback(run_process, trained):
    ended = run_process("train", trained / "cases.csv", "--target", "diagnosi", cwd=trained)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: unknown target 'diagnosi'; did you mean 'diagnosis'? allowed: 'age', ")
    assert len(ended.stderr.splitlines()) == 1


def test_answers_come_from_a_pipe_and_json_goes_to_one_also_if_it_knows_only_ascii(run_process, trained):
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    ended = run_process("ask", trained / "heart.askwise", "--json", input="60\nmale\n", env=ascii_only)
    assert ended.returncode == 0
    facts = json.loads(ended.stdout)
    assert facts["answers"] == {"age": 60.0, "sex": "male"}
    assert (facts["reason"], facts["why"]) == ("end-of-input", "the answers ended here")
    # The bars are on standard error, in other characters.
    assert "spent 0" in ended.stderr
    assert "?" * 8 in ended.stderr


def test_ctrl_c_ends_training_with_130_and_one_line(start, trained, tmp_path):
    arguments = ["train", trained / "cases.csv", "--target", "diagnosis", "-o", tmp_path / "m.askwise"]
    arguments += [
        "--task",
        "classification",
        "--drop",
        "patient,site",
        "--epochs",
        100_000,
        "--pretrain-epochs",
        100_000,
    ]
    process = start(*arguments, "--checkpoint", tmp_path / "runs")
    process.wait_until(lambda: list(tmp_path.glob("runs/*.checkpoint")))
    message = "Stopped. Run the same command again to go on from the last epoch.\n"
    assert process.press_ctrl_c() == (130, message)
    assert not (tmp_path / "m.askwise").exists()


def test_a_disk_that_takes_no_more_leaves_the_old_model_as_it_was(run, trained, tmp_path, fast):
    path = tmp_path / "m.askwise"
    path.write_bytes(b"the old model")
    with full_disk():
        ended = run("train", trained / "cases.csv", "--target", "diagnosis", "-o", path, "--quiet", *fast)
    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"Error: can't write {path}")
    assert path.read_bytes() == b"the old model"
    assert os.listdir(tmp_path) == ["m.askwise"]


def test_the_command_line_itself_loads_nothing_heavy():
    """The commands load torch, pandas and scikit-learn only when they run, so that help comes at once."""
    program = (
        "import sys, types, importlib.util as u;"
        "package = types.ModuleType('askwise');"
        "package.__path__ = u.find_spec('askwise').submodule_search_locations;"
        "sys.modules['askwise'] = package;"
        "import askwise.cli;"
        "print([m for m in ('torch', 'pandas', 'numpy', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "[]", ended.stderr


def test_help_has_examples_for_every_command(run):
    for command in ([], ["demo"], ["train"], ["evaluate"], ["predict"], ["ask"], ["info"]):
        said = run(*command, "--help")
        assert said.exit_code == 0
        assert "Examples:\n    askwise" in said.stdout
        assert command == [] or all(flag in said.stdout for flag in ("--json", "--quiet"))
