"""Ray: the same trials and the same results as in one process, and a clear line for an address that is wrong."""

from __future__ import annotations

import pytest

from lengthwise.errors import InputError
from lengthwise.search import blocks_of, cluster
from lengthwise.search.cluster import Cluster, connect
from lengthwise.search.execution import Here, complete, gathered
from lengthwise.search.processes import plan_of


def test_without_ray_the_way_to_get_it_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match=r"Ray is not installed; expected `pip install lengthwise\[ray\]`"):
        connect("local", 1)


@pytest.mark.parametrize("address", ["nowhere", "1.2.3.4", "host:port", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InputError, match=f"--ray {address}: expected"):
        cluster._check_reachable(address)


def test_a_port_where_something_else_answers_is_refused_after_a_bounded_wait(monkeypatch):
    import socket

    monkeypatch.setattr(cluster, "WAIT", 1.0)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(InputError, match="no Ray cluster answers there within 1 s"):
            cluster._check_reachable(f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.slow
def test_a_local_cluster_gives_the_same_bits_as_one_process(tiny, tmp_path):
    pytest.importorskip("ray")
    blocks = blocks_of(tiny)
    complete(tmp_path / "here", blocks, Here())
    complete(tmp_path / "ray", blocks, Cluster("local", plan_of(tiny), workers=2))
    assert gathered(tmp_path / "here", blocks).equals(gathered(tmp_path / "ray", blocks), null_equal=True)


@pytest.mark.slow
def test_what_a_task_refuses_reaches_the_user(tiny, tmp_path):
    pytest.importorskip("ray")
    bad = tiny.changed(experiment=tiny.experiment.model_copy(update={"groups": {"no": ("nothing*",)}}))
    with pytest.raises(InputError, match="nothing"):
        complete(tmp_path, blocks_of(bad), Cluster("local", plan_of(bad), workers=1))
