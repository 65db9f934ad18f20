"""The command as a process of its own: exit codes, streams, signals and limits."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys

COMMAND = [sys.executable, "-c", "from askwise.cli import main; main()"]


def start(*args, **how):
    return subprocess.run([*COMMAND, *map(str, args)], capture_output=True, text=True, timeout=100, **how)


def test_a_mistake_ends_with_two_and_no_traceback(trained):
    ended = start("train", trained / "cases.csv", "--target", "diagnosi", cwd=trained)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: unknown target 'diagnosi'; did you mean 'diagnosis'? allowed: 'age', ")
    assert len(ended.stderr.splitlines()) == 1


def test_answers_come_from_a_pipe_and_json_goes_to_one(trained):
    ended = start("ask", trained / "heart.askwise", "--json", "--quiet", input="60\nmale\n")
    assert ended.returncode == 0
    facts = json.loads(ended.stdout)
    assert facts["answers"] == {"age": 60.0, "sex": "male"}
    assert (facts["reason"], facts["why"]) == ("end-of-input", "the answers ended here")
    assert ended.stderr == ""


def test_output_that_knows_only_ascii_is_no_crash(trained):
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    ended = start("ask", trained / "heart.askwise", input="60\n\n", env=ascii_only)
    assert ended.returncode == 0
    assert "spent 0" in ended.stdout


def test_ctrl_c_ends_training_with_130_and_one_line(trained, tmp_path):
    arguments = ["train", trained / "cases.csv", "--target", "diagnosis", "-o", tmp_path / "m.askwise"]
    arguments += ["--task", "classification", "--drop", "patient", "--epochs", "100000", "--pretrain-epochs", "100000"]
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments), "--checkpoint", str(tmp_path / "runs")], stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*.checkpoint")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.wait(30) == 130
    assert said == "Stopped. Run the same command again to go on from the last epoch.\n"
    assert not (tmp_path / "m.askwise").exists()


def test_a_disk_that_takes_no_more_leaves_the_old_model_as_it_was(trained, tmp_path, fast):
    path = tmp_path / "m.askwise"
    path.write_bytes(b"the old model")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    table = trained / "cases.csv"
    ended = start("train", table, "--target", "diagnosis", "-o", path, "--quiet", *fast, preexec_fn=limit)
    assert ended.returncode == 2
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
    for command in ([], ["demo"], ["train"], ["evaluate"], ["ask"], ["info"]):
        said = run(*command, "--help")
        assert said.exit_code == 0
        assert "Examples:\n    askwise" in said.stdout
        assert command == [] or all(flag in said.stdout for flag in ("--json", "--quiet"))
