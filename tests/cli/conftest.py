"""A folder with a user's files, and a model trained there by the command line, once."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

from askwise.cli import app

FAST = ["--hidden", "8", "--epochs", "1", "--pretrain-epochs", "1"]
# A process that is started by one that ignores Ctrl-C, as under nohup, ignores it too unless it says otherwise.
RUN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from askwise.cli import main; main()"
COMMAND = [sys.executable, "-c", RUN]
SECONDS = 100


@pytest.fixture(scope="session")
def run():
    """Call the command line with arguments and, where given, what is typed; paths and numbers may be as they are."""

    def call(*args, typed=None):
        return CliRunner().invoke(app, [str(a) for a in args], input=typed)

    return call


@pytest.fixture(scope="session")
def run_process():
    """Run the command line as a process of its own until it ends."""

    def call(*args, timeout=SECONDS, **how):
        words = [*COMMAND, *map(str, args)]
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False, **how)

    return call


class Background:
    """A command that runs in a process group of its own."""

    def __init__(self, args, env):
        words = [*COMMAND, *map(str, args)]
        self._process = subprocess.Popen(
            words, stderr=subprocess.PIPE, text=True, start_new_session=True, env=os.environ | env
        )
        self.group = self._process.pid

    def wait_until(self, condition):
        """Wait until a condition holds while the command runs."""
        until = time.monotonic() + SECONDS
        while not condition():
            assert self._process.poll() is None, self._process.communicate(timeout=10)[1]
            assert time.monotonic() < until
            time.sleep(0.02)

    def press_ctrl_c(self):
        """Send SIGINT to every process of the group, as a terminal does; return the exit code and standard error."""
        return self.send("SIGINT")

    def send(self, name):
        """Send a signal to every process of the group; return the exit code and standard error."""
        os.killpg(self.group, signal.Signals[name])
        _, errors = self._process.communicate(timeout=60)
        return self._process.returncode, errors

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._process.communicate(timeout=10)


@pytest.fixture
def start():
    """Start the command line in the background; what still runs when the test ends is killed."""
    started = []

    def call(*args, **env):
        started.append(Background(args, env))
        return started[-1]

    yield call
    for process in started:
        process.kill()


@pytest.fixture(scope="session")
def trained(tmp_path_factory, cases, new_cases, run):
    """Tables, prices and groups, and heart.askwise trained from them. Not to be written into."""
    folder = tmp_path_factory.mktemp("clinic")
    for name, (frame, answers) in {"cases.csv": cases, "test.csv": new_cases}.items():
        people = [f"p{i // 3}" for i in range(len(frame))]
        frame.assign(patient=people, diagnosis=answers).to_csv(folder / name, index=False)
    # With a price, a column is asked although its value is always the same.
    prices = {"scan": 40, "exercise test": 15, "pressure": 2.5, "site": 1}
    (folder / "costs.json").write_text(json.dumps(prices))
    pd.DataFrame({"name": prices.keys(), "cost": prices.values()}).to_csv(folder / "costs.csv", index=False)
    (folder / "groups.json").write_text(json.dumps({"exercise test": ["rate", "pain"]}))
    made = run(
        *("train", folder / "cases.csv", "--target", "diagnosis", "--costs", folder / "costs.csv"),
        *("--groups", folder / "groups.json", "--free", "age,sex", "--split-by", "patient", *FAST),
        *("-o", folder / "heart.askwise"),
    )
    assert made.exit_code == 0, made.output
    return folder


QUESTIONS = """name,text,unit,help,choices
age,How old?,years,,
exercise test,How did it go?,,"Ten minutes, on a bicycle",
rate,,bpm,At its highest,
pain,How often does it hurt?,,,none|seldom|often
scan,What does the scan show?,mm,,
"""


@pytest.fixture(scope="session")
def worded(tmp_path_factory, trained, run):
    """A model whose questions have texts, units, help and an order of choices. Not to be written over."""
    folder = tmp_path_factory.mktemp("worded")
    (folder / "questions.csv").write_text(QUESTIONS)
    made = run(
        *("train", trained / "cases.csv", "--target", "diagnosis", "--drop", "patient", "--free", "age,sex", *FAST),
        *(
            "--groups",
            trained / "groups.json",
            "--questions",
            folder / "questions.csv",
            "-o",
            folder / "worded.askwise",
        ),
    )
    assert made.exit_code == 0, made.output
    return folder / "worded.askwise"


@pytest.fixture
def folder(trained, tmp_path, monkeypatch):
    """A copy of the user's files to work in, as the current folder."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fast():
    """Arguments that train in a fraction of a second."""
    return list(FAST)
