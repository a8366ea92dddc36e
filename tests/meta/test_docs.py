"""The documentation is true: its code runs, its links lead somewhere, its generated parts are up to date."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
# A block that only shows the shape of something says so in its first line: ```python {test="no"}.
EXAMPLES = [
    example
    for example in find_examples(*(ROOT / page for page in PAGES))
    if example.prefix_settings().get("test") != "no"
]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that the headings of a page make, as repository sites make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def is_dead(target: str, page: Path) -> bool:
    """True when a link of a page leads to no file, or no heading, of the project."""
    if re.match(r"[a-z]+:", target):
        return False
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists() or not file.is_relative_to(ROOT):
        return True
    return bool(anchor) and file.suffix == ".md" and anchor not in anchors(file)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Every link to a file or heading of the project finds it."""
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    targets = [match["target"] or match["image"] for match in LINK.finditer(text)]
    assert [] == [target for target in targets if is_dead(target, ROOT / page)]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_code_runs(example: CodeExample, eval_example: EvalExample, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each Python block of the documentation runs from the top of the project and prints what it says it prints."""
    monkeypatch.chdir(ROOT)
    eval_example.set_config(line_length=120)
    eval_example.run_print_check(example)


@pytest.mark.once
def test_generated_parts_are_up_to_date() -> None:
    """What cog generates in the pages is what it would generate now."""
    command = [sys.executable, "-m", "cogapp", "--check", "-I", "scripts", *PAGES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert (0, "") == (done.returncode, done.stderr)


def test_every_page_is_reached_from_the_index() -> None:
    """Following links from docs/index.md leads to every page."""
    reached: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.is_file():
            continue
        reached.add(page)
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        waiting += [
            (page.parent / match["target"].partition("#")[0]).resolve()
            for match in LINK.finditer(text)
            if match["target"]
        ]
    lost: Sequence[str] = [page for page in PAGES if page.startswith("docs/") and ROOT / page not in reached]
    assert [] == lost
