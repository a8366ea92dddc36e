"""What is public says what it is, and every test says what it shows."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def is_protocol(node: ast.ClassDef) -> bool:
    """True for a class whose methods have names only, to be described where they are implemented."""
    return any(ast.unparse(base).partition("[")[0] in {"Protocol", "NamedTuple", "TypedDict"} for base in node.bases)


def silent_methods(tree: ast.Module) -> Iterator[str]:
    """Public methods without a docstring, in public classes that are no protocols."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_") or is_protocol(node):
            continue
        for method in node.body:
            public = isinstance(method, FUNCTIONS) and not method.name.startswith("_")
            if public and not ast.get_docstring(method) and not decorated(method):
                yield f"{node.name}.{method.name}"


def decorated(function: FUNCTIONS) -> bool:
    """True for what is described elsewhere: an overload, a setter, an override."""
    names = {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}
    return bool(names & {"overload", "override", "setter"})


def silent_tests(tree: ast.Module) -> Iterator[str]:
    """Test functions without a docstring."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name.startswith("test_") and not ast.get_docstring(node):
            yield node.name


def test_public_methods_are_described(python_files: Sequence[Path], root: Path) -> None:
    """Every public method of the package has a docstring, protocols' and overrides' excepted."""
    sources = [path for path in python_files if path.is_relative_to(root / "src")]
    silent = {path.relative_to(root).as_posix(): list(silent_methods(ast.parse(path.read_bytes()))) for path in sources}
    assert {} == {name: methods for name, methods in silent.items() if methods}


def test_tests_are_described(python_files: Sequence[Path], root: Path) -> None:
    """Every test has a docstring that states the behaviour."""
    tests = [path for path in python_files if path.is_relative_to(root / "tests") and path.name.startswith("test_")]
    silent = {path.relative_to(root).as_posix(): list(silent_tests(ast.parse(path.read_bytes()))) for path in tests}
    assert {} == {name: methods for name, methods in silent.items() if methods}


def test_the_checks_see_what_is_missing() -> None:
    """A public method without a docstring is found; a protocol's, a private one and a described one are not."""
    code = """
class A:
    def silent(self): ...
    def _private(self): ...
    def described(self):
        'Is described.'
class P(Protocol):
    def silent(self): ...
def test_silent(): ...
"""
    tree = ast.parse(code)
    assert (["A.silent"], ["test_silent"]) == (list(silent_methods(tree)), list(silent_tests(tree)))
