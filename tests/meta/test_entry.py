"""The command `spanwise` of the base package."""

import subprocess
import sys

# A module set to None in sys.modules cannot be imported: as if it were not installed.
WITHOUT = "import sys; sys.modules['typer'] = None; from spanwise.__main__ import main; sys.exit(main())"


def test_command_without_its_extra_says_how_to_add_it() -> None:
    """Without the packages of the command line, the command names the missing one and the pip line, and exits 2."""
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False, timeout=60)
    assert (2, "") == (done.returncode, done.stdout)
    assert "spanwise: the command line needs typer; install it with: pip install 'spanwise[cli]'\n" == done.stderr
