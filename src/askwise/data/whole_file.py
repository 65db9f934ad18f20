"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askwise.core.errors import AskwiseError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and vanishes when it does not."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        os.close(handle)
        part = Path(name)
        try:
            yield part
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            part.chmod(0o666 & ~umask)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise AskwiseError(
                f"no space left to write {target}; nothing was changed: free some space and try again"
            ) from error
        raise AskwiseError(f"can't write {target}: {error.strerror or error}; nothing was changed") from error
