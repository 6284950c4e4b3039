"""What is imported is declared in pyproject.toml: by the package in its dependencies and extras, by tests in `dev`."""

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions

import pytest
from hidden_libraries import PROJECT, ROOT, declared
from packaging.utils import canonicalize_name

USERS = set(PROJECT["optional-dependencies"]) - {"docs", "dev"}
HOMES = packages_distributions()


def imported(folder: str) -> Iterator[tuple[str, str]]:
    """Each library that a file of this folder imports, with the file."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                yield name.partition(".")[0], str(path.relative_to(ROOT))


@pytest.mark.parametrize(("folder", "extras"), [("src", USERS), ("tests", {*USERS, "dev"})])
def test_each_library_that_is_imported_is_declared(folder, extras):
    ours = {
        "discreet",
        "own_package",
        *(path.stem for place in ("tests", "benchmarks") for path in ROOT.glob(f"{place}/**/*.py")),
    }
    lowest = [need for need in declared(*extras) if any(one.operator in (">=", "==") for one in need.specifier)]
    names = {canonicalize_name(need.name) for need in lowest}  # a limit alone, as of Click, declares nothing
    missing = {
        f"{file}: {library}"
        for library, file in imported(folder)
        if library not in sys.stdlib_module_names | ours
        and not names & {canonicalize_name(home) for home in HOMES.get(library, [library])}
    }
    assert not missing, "declare them in pyproject.toml"
