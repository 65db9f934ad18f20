"""A PostgreSQL that the tests start in a folder of their own and stop again."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class Postgres:
    """A running server, and how to run it again."""

    programs: Path
    folder: Path
    port: int
    user: dict[str, object]
    process: subprocess.Popen | None = None
    numbers: itertools.count = field(default_factory=itertools.count)

    def start(self):
        """Start, and wait until it can be talked to."""
        import psycopg

        settings = {"port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log.txt").open("a") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *options],
                stdout=log, stderr=log, cwd=self.folder, **self.user,
            )  # fmt: skip
        end = time.monotonic() + 60
        while True:
            assert self.process.poll() is None, (self.folder / "log.txt").read_text()
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.at("postgres"), connect_timeout=5).close()
                return
            assert time.monotonic() < end, "PostgreSQL did not start"
            time.sleep(0.05)

    def stop(self):
        """As by its administrator: connections are cut."""
        assert self.process is not None
        self.process.send_signal(2)
        self.process.wait(60)

    def at(self, database):
        return f"postgresql://askwise@127.0.0.1:{self.port}/{database}"

    def new_database(self):
        import psycopg

        name = f"journal{next(self.numbers)}"
        with psycopg.connect(self.at("postgres"), autocommit=True, connect_timeout=5) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.at(name)


def programs():
    """The folder of PostgreSQL's programs, None where there is none."""
    found = [Path(path).resolve().parent for name in ("postgres", "initdb") if (path := shutil.which(name))]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "postgres").exists() and (folder / "initdb").exists()), None)


def another_user():
    """Who runs it: PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL can't be run by root, and there is neither a user postgres nor nobody")


@contextlib.contextmanager
def a_postgres():
    """A server in a folder of its own under the system's, since the path of a socket must be short."""
    pytest.importorskip("psycopg")
    where = programs()
    if where is None:
        pytest.skip("PostgreSQL is not installed (neither postgres and initdb on the PATH nor /usr/lib/postgresql)")
    user = another_user()
    folder = Path(tempfile.mkdtemp(prefix="askwise-pg-", dir="/tmp"))
    try:
        if user:
            os.chown(folder, user["user"], user["group"])
        made = [where / "initdb", "-D", folder / "data", "-U", "askwise", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, timeout=120, **user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        found = Postgres(where, folder, port, user)
        found.start()
        try:
            yield found
        finally:
            found.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
