"""`__all__` of every module says the truth: what others import from it, or what is public, and no more."""

import ast
import functools
import re
from pathlib import Path

import dynafield

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
OTHERS = ("tests", "benchmarks", "docs", "release")
"""Folders of programs that import from the library."""


@functools.cache
def tree(path):
    """The program in a file."""
    return ast.parse(path.read_text())


def module_name(path):
    """The name by which a file is imported."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def offered(module):
    """The names in `__all__`."""
    for node in module.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(getattr(target, "id", "") == "__all__" for target in targets):
                return set(ast.literal_eval(node.value))
    return set()


def defined(module):
    """Names that a module has: functions, classes, constants and imports, also under conditions."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]


def taken(program, modules=MODULES):
    """(module, name) of all that a program takes from modules, by `from … import` or as an attribute."""
    known, nodes = {}, list(ast.walk(program))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                if f"{node.module}.{alias.name}" in modules:
                    known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                else:
                    yield node.module, alias.name
        elif isinstance(node, ast.Import):
            known |= {one.asname: one.name for one in node.names if one.asname and one.name in modules}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home = known.get(node.value.id)
            if home and not node.attr.startswith("__") and f"{home}.{node.attr}" not in modules:
                yield home, node.attr


def looked_up(program):
    """Names found at run time: the end of "phases.draw_grokking", the attribute in `rules().code_of`."""
    lists = {id(one) for node in ast.walk(program) if isinstance(node, ast.List) for one in node.elts}
    for node in ast.walk(program):
        if id(node) in lists:  # such as `__all__`
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"[\w.]+", node.value):
                yield node.value.rsplit(".", 1)[-1]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call):
            yield node.attr


@functools.cache
def imports():
    """(path of the program, module, name) of all that is taken from the library, here and around it."""
    around = [path for folder in OTHERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [(path, *pair) for path in (*MODULES.values(), *around) for pair in taken(tree(path))]


def test_what_modules_import_is_offered():
    names = {home: offered(tree(path)) for home, path in MODULES.items()}
    for path, home, one in imports():
        if path.is_relative_to(SOURCE) and path != MODULES[home]:
            assert one in names[home] or home == "dynafield", (
                f"{path} imports {one}: add it to {home}.__all__"
            )


def test_programs_import_what_there_is():
    names = {home: set(defined(tree(path))) for home, path in MODULES.items()}
    for path, home, one in imports():
        assert one in names[home] or home == "dynafield", f"{path}: {home} has no {one}"


def test_what_is_offered_is_there_and_wanted():
    """By other modules, those that users import among them, by programs around them, or in the reference."""
    wanted = {(home, one) for path, home, one in imports() if path != MODULES[home]}
    reference = (ROOT / "docs/reference.md").read_text()
    wanted |= set(re.findall(r":: (dynafield\.[\w.]+)\.(\w+)", reference))
    looked = {one for path in MODULES.values() for one in looked_up(tree(path))}
    public = {"dynafield", *(f"dynafield.{name}" for name in dynafield.SUBMODULES)}
    for home, path in MODULES.items():
        names = offered(tree(path))
        assert names <= set(defined(tree(path))), home
        if home in public:
            continue
        unknown = {one for one in names if (home, one) not in wanted and one not in looked}
        assert not unknown, f"nobody imports {sorted(unknown)} of {home}, and they are not public"


def test_the_rules_can_fail():
    modules = {"a": None, "a.b": None}
    program = ast.parse(
        "from a import b\nfrom a.b import f as g\nimport a.b as c\n"
        "def h():\n    from a.b import late\n    return b.x + c.y + b.__name__\n"
    )
    assert set(taken(program, modules)) == {("a.b", one) for one in ("f", "late", "x", "y")}
    assert offered(ast.parse('__all__ = ["f", "G"]\n')) == {"f", "G"}
    assert set(defined(ast.parse("import a.b\nX: int = 1\ndef f(): ...\n"))) == {"a", "X", "f"}
    assert set(looked_up(ast.parse('D = "phases.draw", "two words", rules().code'))) == {"draw", "code"}
