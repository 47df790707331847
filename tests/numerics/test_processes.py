"""Processes of a sweep: no other process of the machine can reach them."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest

from dynafield.numerics.processes import in_processes, in_single_threads

LISTENS = "0A"
"""How Linux writes that a TCP socket listens."""
LINUX = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's tables of sockets")


def listening(pid):
    """Sockets of a process to which others could connect: TCP and those with a name."""
    places = {}
    for table in ("tcp", "tcp6"):
        file = Path(f"/proc/{pid}/net/{table}")
        for row in map(str.split, file.read_text().splitlines()[1:] if file.exists() else []):
            if row[3] == LISTENS:
                places[row[9]] = row[1]
    for row in map(str.split, Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]):
        if len(row) > 7:
            places[row[6]] = row[7]
    found = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(one)
        except FileNotFoundError:  # the folder itself was open
            continue
        found += [places[name] for name in [target[8:-1]] if target.startswith("socket:") and name in places]
    return found


def here_and_above(_):
    """Sockets of this process and of the one that started it."""
    return os.getpid(), listening(os.getpid()), listening(os.getppid())


@LINUX
def test_the_processes_of_a_sweep_open_no_port():
    with socket.socket() as known:
        known.bind(("127.0.0.1", 0))
        known.listen()
        assert len(listening(os.getpid())) == 1, "an open port is seen"
    before = listening(os.getpid())
    found = dict(in_single_threads(here_and_above, {k: (k,) for k in range(4)}, 2, 0))
    assert len(found) == 4
    assert os.getpid() not in {pid for pid, _, _ in found.values()}
    assert [own for _, own, _ in found.values()] == 4 * [[]]
    assert [above for _, _, above in found.values()] == 4 * [before]


def test_large_arrays_do_not_go_through_files():
    """joblib would put them into a folder of /dev/shm or of temporary files, and unpickle from there."""
    large = np.ones(400_000)
    assert list(in_processes(type, [(large,), (large,)], 2)) == [np.ndarray, np.ndarray]
