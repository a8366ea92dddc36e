"""The command `spanwise`; without the extra that it needs, it says which line installs it."""

from __future__ import annotations

import sys

_CLI_PACKAGES = frozenset(
    {
        "alembic",
        "genai_prices",
        "google",
        "opentelemetry",
        "pydantic",
        "re2",
        "rich",
        "sqlalchemy",
        "typer",
        "yaml",
        "zstandard",
    }
)


def main() -> int:
    """Run the command line; 2 when it is not installed."""
    try:
        from spanwise.cli.main import main as run

        return run()
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.partition(".")[0] not in _CLI_PACKAGES:
            raise
        sys.stderr.write(f"spanwise: the command line needs {missing}; install it with: pip install 'spanwise[cli]'\n")
        return 2


if __name__ == "__main__":
    sys.exit(main())
