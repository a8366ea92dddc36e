"""A helper process and the app around it: its end, its main module, its forks."""

import signal
from pathlib import Path

from tests.capture.processes import gone, python

REFUSED = (
    "Evaluator 'mine' cannot be sent to a helper process: 'mine' is defined in the script that is run; define it in"
    " a module that can be imported, or give its path, as in ByPath(path='acme.checks:Refund')."
)


def test_it_ends_with_the_app(tmp_path: Path) -> None:
    """A killed app leaves no helper process, though an evaluator hangs with the interpreter's lock in its hands."""
    code = """
        import os, signal, sys, time
        from spanwise.capture.isolation import Helper
        from tests.capture import misbehaving
        from tests.making import agent, run_of
        helper = Helper({"fine": misbehaving.fine, "bad": misbehaving.hangs_in_c}, budget_s=60)
        helper.submit(run_of(agent(1)), 1, ["fine"])
        assert helper.wait(40)
        helper.submit(run_of(agent(1)), 2)
        time.sleep(0.5)
        print(helper._process.pid, flush=True)
        if "exit" in sys.argv or os.environ["HOW"] == "exit":
            sys.exit(0)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    for how, expected in (("exit", 0), ("kill", -signal.SIGKILL)):
        done = python(code, folder=tmp_path, HOW=how)
        assert (expected, "") == (done.returncode, done.stderr)
        assert gone(int(done.stdout))


def test_a_script_without_a_guard(tmp_path: Path) -> None:
    """The main module is not run again in the helper process; an evaluator of its own is refused with the reason."""
    done = python(
        """
        print("imported", __name__, flush=True)
        from spanwise.capture.isolation import ByPath, Helper
        from spanwise.errors import ModelError
        from tests.capture import misbehaving
        from tests.making import agent, run_of
        def mine(run): ...
        try:
            Helper({"mine": mine})
        except ModelError as error:
            print(error)
        helper = Helper({"inside": misbehaving.inside})
        helper.submit(run_of(agent(1)))
        assert helper.close(40)
        print(helper.poll()[0][1][0].reason)
        """,
        folder=tmp_path,
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert [
        "imported __main__",
        REFUSED,
        "2 ['spanwise'] <module '__main__' (built-in)>",
    ] == done.stdout.splitlines()


def test_a_fork_starts_its_own(tmp_path: Path) -> None:
    """A child forked at work, with the lock held, has its own process and its own counts; the parent's goes on."""
    done = python(
        """
        import os, sys, time, threading
        from spanwise.capture.isolation import Helper
        from tests.capture import misbehaving
        from tests.making import agent, run_of
        run = run_of(agent(1))
        helper = Helper({"calls": misbehaving.Calls(), "slow": misbehaving.Slow(seconds=0.2)})
        def pid():
            return [score.value for _, scores in helper.poll() for score in scores if score.unit == "pid"]
        for revision in range(3):
            helper.submit(run, revision + 1)
        time.sleep(0.4)
        children = []
        for _ in range(3):
            child = os.fork()
            if not child:
                assert helper.pending == 0 and helper.poll() == []
                helper.submit(run)
                assert helper.close(40)
                print("child", pid(), flush=True)
                os._exit(0)
            children.append(child)
        assert [0, 0, 0] == [os.waitpid(child, 0)[1] for child in children]
        assert helper.close(40)
        print("parent", pid())
        """,
        folder=tmp_path,
    )
    assert (0, 4) == (done.returncode, len(done.stdout.splitlines())), done.stderr
    pids = {line.split()[0]: set() for line in done.stdout.splitlines()}
    for line in done.stdout.splitlines():
        pids[line.split()[0]] |= set(line.partition(" ")[2].strip("[]").split(", "))
    assert (3, 1) == (len(pids["child"]), len(pids["parent"]))
    assert not pids["child"] & pids["parent"]


def test_a_helper_process_starts_no_other(tmp_path: Path) -> None:
    """A module that makes a helper when it is imported does so in vain in a helper process."""
    (tmp_path / "checks.py").write_text(
        "from spanwise.capture.isolation import Helper\n"
        "from tests.capture import misbehaving\nfrom tests.making import agent, run_of\n"
        "inner = Helper({'fine': misbehaving.fine})\n"
        "def mine(run):\n"
        "    from spanwise.model.score import Score\n"
        "    inner.submit(run)\n"
        "    return Score(name='mine', value=1.0, reason=str(inner.counts))\n"
    )
    done = python(
        """
        from checks import inner, mine
        from spanwise.capture.isolation import Helper
        from tests.making import agent, run_of
        helper = Helper({"mine": mine})
        helper.submit(run_of(agent(1)))
        assert helper.close(40)
        print(helper.poll()[0][1][0].reason)
        """,
        folder=tmp_path,
    )
    assert (0, "", "{'isolated_dropped': 1}") == (done.returncode, done.stderr, done.stdout.strip())
