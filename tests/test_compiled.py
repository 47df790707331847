"""Compiled code in one process."""

import os
import platform
import stat
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from dynafield import compiled


@pytest.mark.parametrize(("maps", "kept"), [((60_000, 65_530), 0), ((20_000, 65_530), 1), (None, 1)])
def test_compiled_code_is_dropped_before_a_process_has_too_many_memory_maps(monkeypatch, maps, kept):
    double = jax.jit(lambda x: 2 * x)
    double(jnp.ones(3))
    monkeypatch.setattr(compiled, "memory_maps", lambda: maps)
    monkeypatch.setattr(compiled.Watch, "looked", -compiled.PAUSE)
    compiled.make_room()
    assert double._cache_size() == kept
    assert double(jnp.ones(3))[0] == 2


def test_a_process_knows_its_memory_maps():
    maps = compiled.memory_maps()
    assert maps is None or 100 < maps[0] < maps[1]


def asked(tmp_path, code, **environment):
    """What a new process says, with a cache folder of its own."""
    given = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "DYNAFIELD_", "XDG_", "TF_"))}
    given |= {"XDG_CACHE_HOME": str(tmp_path), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    return done.stdout.strip()


WHERE = "import dynafield, jax; print(jax.config.jax_compilation_cache_dir)"


def test_compiled_code_is_kept_between_processes(tmp_path):
    folder = tmp_path / "dynafield" / compiled.processor()
    assert asked(tmp_path, WHERE) == str(folder)
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    assert asked(tmp_path, "import jax; " + WHERE, TF_CPP_MIN_LOG_LEVEL="3") == str(folder)
    loud = platform.machine().lower() in compiled.X86
    assert asked(tmp_path, "import jax; " + WHERE) == ("None" if loud else str(folder))
    code = "import dynafield, jax; print(jax.jit(lambda x: x + 1)(1.0))"
    assert asked(tmp_path, code, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0") == "2.0"
    assert list(folder.iterdir())


def test_compiled_code_is_not_kept_where_it_should_not(tmp_path):
    assert asked(tmp_path, WHERE, DYNAFIELD_KEEP_COMPILED="0") == "None"
    assert asked(tmp_path, WHERE, JAX_COMPILATION_CACHE_DIR="/own") == "/own"
    (tmp_path / "dynafield").mkdir(mode=0o700)
    (tmp_path / "dynafield").chmod(0o777)
    assert asked(tmp_path, WHERE) == "None", "others could write there"
    (tmp_path / "file").write_text("")
    assert asked(tmp_path, WHERE, XDG_CACHE_HOME=str(tmp_path / "file")) == "None"


def own_folder(monkeypatch, **environment):
    """The folder for compiled code in an environment."""
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return compiled.own_folder("code")


def test_compiled_code_is_not_kept_where_others_could_put_theirs(monkeypatch, tmp_path):
    """A folder above that others may write to, a link through such a folder, and a folder that was opened."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "link").symlink_to(tmp_path)
    shared.chmod(0o777)
    assert own_folder(monkeypatch, XDG_CACHE_HOME=str(shared)) is None
    assert own_folder(monkeypatch, XDG_CACHE_HOME=str(shared / "link")) is None
    shared.chmod(0o1777)  # like /tmp: nobody can rename what belongs to this user
    folder = tmp_path / "dynafield" / "code"
    assert own_folder(monkeypatch, XDG_CACHE_HOME=str(shared / "link")) == str(shared / "link/dynafield/code")
    folder.chmod(0o770)
    assert own_folder(monkeypatch, XDG_CACHE_HOME=str(tmp_path)) is None


def test_the_folder_of_a_user_without_home(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert own_folder(monkeypatch, HOME=str(tmp_path)) == str(tmp_path / ".cache" / "dynafield" / "code")
    assert own_folder(monkeypatch, XDG_CACHE_HOME="relative") is None
    assert own_folder(monkeypatch, HOME="relative") is None
    assert own_folder(monkeypatch, HOME="/proc/nowhere") is None
    assert os.listdir(tmp_path) == [".cache"]


def test_a_user_without_home_and_name_keeps_nothing():
    """A container may run as a user whom no table knows."""
    if not hasattr(os, "getuid") or os.getuid() != 0:
        pytest.skip("only root can become such a user")
    code = (
        "import os; from dynafield.compiled import own_folder; os.setgid(987_654); os.setuid(987_654); "
        "[os.environ.pop(name, None) for name in ('HOME', 'XDG_CACHE_HOME')]; print(own_folder('code'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "None", done.stderr
