"""The store as a sink."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.assembly.assembler import LIVE
from spanwise.errors import SinkError
from spanwise.model.ports import Sink
from spanwise.pipeline import Pipeline, Scoring
from spanwise.report.contract import to_contract
from spanwise.store import Store, StoreSink
from tests.store.keeping import EVALUATORS, NOW_NS, result_of, spans_of


def test_it_keeps_what_it_is_given(tmp_path: Path) -> None:
    """Results that are emitted are in the store, with the contract's JSON where that was given."""
    sink: Sink = StoreSink.open(tmp_path / "runs.db", document=to_contract)
    sink.emit([result_of(1), result_of(2)])
    sink.emit([])
    sink.close()
    with Store.open(tmp_path / "runs.db") as store:
        assert 2 == len(store.recent())
        kept = store.get(store.recent()[0].trace_id, store.recent()[0].run_id)
        assert kept is not None
        assert kept.contract is not None
        assert "How many people?" == kept.contract["query"]


def test_an_open_store_can_be_a_sink(store: Store) -> None:
    """A store that is open already is written to, and closed with the sink."""
    sink = StoreSink(store)
    sink.emit([result_of(1)])
    assert 1 == len(store.recent())
    sink.close()
    with pytest.raises(SinkError, match="is closed"):
        sink.emit([result_of(2)])


def test_nothing_is_opened_before_results_come(tmp_path: Path) -> None:
    """Making a sink and closing it again leaves no file; afterwards it takes nothing."""
    sink = StoreSink.open(tmp_path / "runs.db")
    sink.close()
    assert [] == list(tmp_path.iterdir())
    with pytest.raises(SinkError, match="is closed"):
        sink.emit([result_of(1)])


def test_a_store_that_cannot_be_opened_is_tried_again(tmp_path: Path) -> None:
    """Results that come while the file is unusable are held, and kept once it is gone; without a spool they fail."""
    path = tmp_path / "runs.db"
    path.write_text("no database, and long enough to be sure of it" * 20)
    strict, sink = StoreSink.open(path, spool=0), StoreSink.open(path)
    with pytest.raises(SinkError, match="is no SQLite file"):
        strict.emit([result_of(1)])
    sink.emit([result_of(2)])
    path.unlink()
    strict.emit([result_of(3)])
    assert sink.flush(20)
    for one in (strict, sink):
        one.close()
    with Store.open(path) as store:
        assert 2 == len(store.recent())


def test_a_place_that_is_none_is_refused_at_once() -> None:
    """A URL of a database that cannot hold a store is an error when the sink is made."""
    with pytest.raises(SinkError, match="'mysql'"):
        StoreSink.open("mysql://u:s3cret@h/d")


def test_a_pipeline_counts_what_the_store_refuses(tmp_path: Path) -> None:
    """In a pipeline the runs of finished traces are kept, and a store that fails is counted, not raised."""
    path = tmp_path / "runs.db"
    for place, failures in ((path, {}), (tmp_path, {"store": 1})):
        pipeline = Pipeline(Scoring(evaluators=EVALUATORS), {"store": StoreSink.open(place)}, settings=LIVE)
        for span in reversed(spans_of(1)):
            pipeline.add(span, NOW_NS)
        pipeline.work(NOW_NS + 10**10)
        pipeline.close(NOW_NS + 10**11)
        assert (1, failures) == (pipeline.stats.scored, pipeline.stats.sink_failures)
    with Store.open(path) as store:
        assert ["helper"] == [run.agent for run in store.recent()]


def run(code: str, root: Path) -> str:
    """What a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": f"{root}/src:{root}"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def test_making_a_sink_loads_no_database(root: Path, tmp_path: Path) -> None:
    """Neither `import spanwise.store` nor a sink that has not been given anything loads SQLAlchemy or alembic."""
    code = (
        f"import sys\nfrom spanwise.store import StoreSink\nStoreSink.open({str(tmp_path / 'x.db')!r}).close()\n"
        "print(*[name for name in ('sqlalchemy', 'alembic', 'sqlite3') if name in sys.modules])"
    )
    assert "" == run(code, root)


HIDE = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] == {name!r}
        return None if hidden else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""


@pytest.mark.parametrize("package", ["sqlalchemy", "alembic"])
def test_a_missing_package_is_told_with_the_line_that_installs_it(root: Path, tmp_path: Path, package: str) -> None:
    """Without SQLAlchemy or alembic the store says what to install, whichever way it is asked for."""
    code = HIDE.format(name=package) + (
        "from spanwise.errors import SinkError\nfrom spanwise import store\n"
        f"for make in (store.StoreSink.open, lambda where: store.Store.open(where)):\n"
        f"    try:\n        make({str(tmp_path / 'x.db')!r})\n"
        "    except SinkError as error:\n        print(error)\n"
    )
    line = f"the store needs {package}; install it with: pip install 'spanwise[store]'"
    assert f"{line}\n{line}" == run(code, root)
