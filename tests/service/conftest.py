"""A tiny model in a file, and a server of it."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
from databases import a_postgres
from PIL import Image
from serving import running, wait_until

from askwise.methods.dime.images import DimeImageClassifier
from askwise.service.app import Limits, create_app
from askwise.service.catalogue import Catalogue
from askwise.service.storage import Journal
from pictures import FAST_IMAGES, make_images


@pytest.fixture(scope="session")
def model_file(tmp_path_factory, clinic, new_cases):
    """The clinic's model with what stopping brings: a category, yes/no, a panel, a free column, unequal prices."""
    path = tmp_path_factory.mktemp("models") / "heart.askwise"
    estimator = copy.deepcopy(clinic)
    estimator.frontier(*new_cases)
    estimator.save(path)
    return path


@pytest.fixture(scope="session")
def catalogue(model_file):
    return Catalogue.read([model_file])


@pytest.fixture(scope="session")
def photo_files(tmp_path_factory):
    """Two models of the same small images, the second of which takes a sketch."""
    folder = tmp_path_factory.mktemp("photos")
    for name, how in {"colours": {}, "sketched": {"prior": "sketch", "epochs": 1, "pretrain_epochs": 2}}.items():
        settings = {"backbone": "small-cnn", **FAST_IMAGES, **how}
        DimeImageClassifier(**settings).fit(*make_images()).save(folder / f"{name}.askwise")
    return [folder / "colours.askwise", folder / "sketched.askwise"]


@pytest.fixture(scope="session")
def photo_models(photo_files):
    return Catalogue.read(photo_files)


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory):
    """Ten photos or so of each colour, in a sub-folder for each."""
    folder = tmp_path_factory.mktemp("examples")
    for i, (pixels, label) in enumerate(zip(*make_images(40, seed=5), strict=True)):
        (folder / label).mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / label / f"{i:02}.png")
    return folder


@pytest.fixture(scope="session")
def heart(catalogue):
    """The model itself, as it was read from the file."""
    return catalogue.models["heart"].model


@pytest.fixture
def serve(catalogue, tmp_path):
    """Begin a server in this process, with a journal in a file unless told otherwise; ended with the test."""
    started = []

    def begin(models=catalogue, journal=f"sqlite:///{tmp_path / 'journal.db'}", token=None, **limits):
        kept = None if journal is None else Journal(journal)
        server = running(create_app(models, kept, token, Limits(**limits)))
        started.append(server)
        return server.__enter__()

    yield begin
    for server in reversed(started):
        server.__exit__(None, None, None)


@pytest.fixture(scope="session")
def shared(catalogue, tmp_path_factory):
    """One server with a journal for all tests that leave no mark on others: its client, journal and folder."""
    folder = tmp_path_factory.mktemp("shared")
    journal = Journal(f"sqlite:///{folder / 'journal.db'}")
    with running(create_app(catalogue, journal)) as client:
        yield SimpleNamespace(client=client, journal=journal, folder=folder)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL of the tests' own; skipped where its programs are not installed."""
    with a_postgres() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """The address of a new, empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'own.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def client(shared):
    return shared.client


@pytest.fixture
def until():
    """Wait until something is so."""
    return wait_until


@pytest.fixture(scope="session")
def browser_in_use():
    """One browser for all tests of a process."""
    # Imported here: other tests need no browser's library.
    from browser import shared_browser

    with shared_browser() as in_use:
        yield in_use


@pytest.fixture
def browser(browser_in_use):
    """The browser, for one test, which opens contexts of its own."""
    with browser_in_use() as browser:
        yield browser
