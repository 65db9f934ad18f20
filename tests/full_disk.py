"""A disk that takes no more, for what is written inside a block."""

import contextlib
import resource


@contextlib.contextmanager
def full_disk(n_bytes=2000):
    """Inside the block no file of this process can grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
