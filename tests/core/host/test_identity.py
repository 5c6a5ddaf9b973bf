"""Who a process is: tables of pure functions, no process needed."""

from __future__ import annotations

from typing import Any

import pytest

from eagle3_core.host.agent import ps
from eagle3_core.host.agent.members import Member, members
from eagle3_core.host.agent.proc import (
    Place,
    Stat,
    identify,
    is_elsewhere,
    parse_stat,
    run_id_in,
)
from eagle3_core.host.run_process import process_of
from eagle3_core.monitor.snapshot import ProcessState


def stat_line(name: str, start: int) -> bytes:
    head = f"4242 ({name}) S 1 4242 4242 0 -1 4194560 10 10 10 10 10 10 10 10 20 0 3 0 {start} "
    return (head + "123456789 2000 18446744073709551615" + " 0" * 27 + "\n").encode()


RECORD = {"pid": 4242, "start": 500100, "boot": "aaaa", "run_id": "r1"}


@pytest.mark.parametrize(
    ("stat", "boot", "run_id", "expected"),
    [
        (stat_line("python3", 500100), "aaaa", "r1", "running"),
        (stat_line("python3", 500100), "bbbb", "r1", "rebooted"),
        (stat_line("postgres", 988877), "aaaa", "", "reused"),
        (stat_line("a) R 1 (b", 500100), "aaaa", "r1", "running"),
        # setproctitle wipes the environment: a missing run id disproves nothing, another one does
        (stat_line("python3", 500100), "aaaa", None, "running"),
        (stat_line("python3", 500100), "aaaa", "", "running"),
        (stat_line("python3", 500100), "aaaa", "r2", "reused"),
        (stat_line("python3", 500100).replace(b" S ", b" Z "), "aaaa", None, "ended"),
        (None, "aaaa", None, "ended"),
        (None, "bbbb", None, "rebooted"),
    ],
)
def test_identity(stat: bytes | None, boot: str, run_id: str | None, expected: str) -> None:
    parsed = parse_stat(stat) if stat is not None else None
    assert identify(RECORD, boot, parsed, run_id) == expected


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"boot": "aaaa", "host": "gpu", "pidns": 7}, False),
        ({"boot": "aaaa", "host": "gpu", "pidns": 8}, True),
        # two containers in one PID namespace (docker run --pid=host) have names of their own
        ({"boot": "aaaa", "host": "box", "pidns": 7}, False),
        ({"boot": "bbbb", "host": "gpu", "pidns": 8}, False),  # rebooted
        ({"boot": "bbbb", "host": "gpu-2", "pidns": 7}, True),  # a shared disk
        ({"boot": "aaaa"}, False),
        ({"boot": "bbbb"}, False),
        ({"boot": "aaaa", "host": None, "pidns": 0}, False),
    ],
)
def test_the_pids_of_another_container_or_host_are_not_ours(
    record: dict[str, Any], expected: bool
) -> None:
    assert is_elsewhere(record, Place("aaaa", "gpu", 7)) is expected


def test_without_namespaces_all_pids_of_a_boot_are_one_place() -> None:
    record = {"boot": "aaaa", "host": "mac", "pidns": 0}
    assert not is_elsewhere(record, Place("aaaa", "mac", 0))
    assert not is_elsewhere(record | {"pidns": 7}, Place("aaaa", "mac", 0))


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (b"PATH=/bin\0EAGLE_RUN_ID=abc\0", "abc"),
        (b"PATH=/bin\0NOT_EAGLE_RUN_ID=abc\0", ""),
        (b"PATH=/bin\0X=EAGLE_RUN_ID=abc\0", ""),
        (b"", None),
        (b"\0\0\0\0", None),
        (b"VLLM::Worker_TP0\0\0", None),
    ],
)
def test_run_id_of_an_environment(environ: bytes, expected: str | None) -> None:
    assert run_id_in(environ) == expected


def table(text: str) -> dict[int, Stat]:
    """Rows of ``pid ppid pgrp session``."""
    rows = (tuple(int(word) for word in line.split()) for line in text.strip().split("\n"))
    return {pid: Stat("S", ppid, pgrp, session, 1000 + pid) for pid, ppid, pgrp, session in rows}


def found(processes: dict[int, Stat], record: dict[str, Any], **more: Any) -> list[int]:
    run_ids: dict[int, str | None] = more.pop("run_ids", {})
    leader_runs = more.pop("leader_runs", record["pid"] in processes)
    listed = members(record, processes, run_ids.get, leader_runs=leader_runs, **more)
    return [member.pid for member in listed]


def test_a_name_in_a_command_line_is_no_evidence() -> None:
    """Editors, pgrep and its own shell, tail -F: none of them is the run whose name they show."""
    others = table(
        "4021 1 4021 4021\n5110 4021 5110 5110\n5111 5110 5110 5110\n4400 1 4400 4400\n"
        "4477 1 4477 4477"
    )
    record = {"pid": 3999, "pgid": 3999, "start": 812345, "run_id": "r1"}
    assert found(others, record) == []


WORKERS = "7001 {parent} 7000 7000\n7002 7001 7000 7000\n7003 7001 7000 7000\n6100 6000 6100 6100"
RUN = {"pid": 7000, "pgid": 7000, "start": 8000, "run_id": "r1"}


def test_workers_of_a_living_leader() -> None:
    processes = table("7000 1 7000 7000\n" + WORKERS.format(parent=7000))
    assert found(processes, RUN) == [7000, 7001, 7002, 7003]


def test_workers_that_outlive_their_leader() -> None:
    """Parent killed; the workers were adopted by somebody and have wiped their environment."""
    assert found(table(WORKERS.format(parent=6999)), RUN) == [7001, 7002, 7003]


def test_a_later_group_of_the_same_number_is_not_ours() -> None:
    """Their environment can be read and names no run, or another one."""
    processes = table(WORKERS.format(parent=1))
    assert found(processes, RUN, run_ids={7001: "", 7002: "", 7003: "r2"}) == []


def test_a_process_that_left_group_and_session_is_found_by_run_id() -> None:
    processes = table("9000 1 9000 9000\n9001 1 9001 9001")
    assert found(processes, RUN, run_ids={9000: "r1", 9001: "r2"}) == [9000]


def test_an_orphan_that_wiped_its_environment_is_found_by_its_shim() -> None:
    processes = table("7500 1 7500 7500\n9000 7500 9000 9000\n9001 9000 9001 9001")
    record = RUN | {"shim": 7500, "shim_start": 8500}
    assert found(processes, record) == [9000, 9001]
    assert found(processes, record | {"shim_start": 1}) == []  # another process has that pid


def test_a_run_started_by_hand_in_a_script_does_not_own_the_scripts_group() -> None:
    processes = table(
        "7000 6900 6900 6900\n6900 1 6900 6900\n6901 6900 6900 6900\n7001 7000 6900 6900"
    )
    assert found(processes, RUN | {"pgid": 6900}) == [7000, 7001]


def test_what_was_proved_once_stays_proved() -> None:
    processes = table("7001 1 7001 7001\n7002 7001 7001 7001")
    assert found(processes, RUN, trusted=[Member(7001, 8001)]) == [7001, 7002]
    assert found(processes, RUN, trusted=[Member(7001, 1)]) == []


def test_a_process_older_than_the_run_is_not_of_it() -> None:
    processes = {7001: Stat("S", 1, 7000, 7000, 10)}
    assert found(processes, RUN) == []


@pytest.mark.parametrize(
    ("record", "leader", "left", "phase", "expected"),
    [
        (None, "", [], "", ProcessState.NONE),
        ({"pid": 0, "error": "No such file"}, "ended", [], "", ProcessState.FAILED),
        ({"pid": 5}, "running", [], "running", ProcessState.RUNNING),
        ({"pid": 5}, "running", [], "draining", ProcessState.DRAINING),
        ({"pid": 5, "exit": 0}, "ended", [], "draining", ProcessState.EXITED),
        ({"pid": 5, "exit": 3}, "rebooted", [], "", ProcessState.EXITED),
        ({"pid": 5, "exit": 3}, "reused", [], "", ProcessState.EXITED),
        ({"pid": 5, "exit": -9}, "ended", [], "", ProcessState.KILLED),
        ({"pid": 5, "exit": -9}, "ended", [6, 7], "", ProcessState.LEFTOVERS),
        ({"pid": 5}, "rebooted", [], "running", ProcessState.GONE),
        ({"pid": 5}, "reused", [], "running", ProcessState.REUSED),
        ({"pid": 5}, "ended", [], "running", ProcessState.EXITED),
        ({"pid": 5, "host": "box"}, "elsewhere", [], "running", ProcessState.UNKNOWN),
    ],
)
def test_process_state(
    record: dict[str, Any] | None,
    leader: str,
    left: list[int],
    phase: str,
    expected: ProcessState,
) -> None:
    facts = {
        "record": record,
        "record_exists": record is not None,
        "leader": leader,
        "leftovers": left,
    }
    process = process_of(facts, {"phase": phase})
    assert process.state is expected
    if expected is ProcessState.KILLED:
        assert process.signal == "KILL"
    if expected is ProcessState.LEFTOVERS:
        assert "6, 7" in process.detail
    if expected is ProcessState.UNKNOWN:
        assert "box" in process.detail


def test_the_phase_of_an_earlier_run_is_not_this_ones() -> None:
    facts = {"record": {"pid": 5, "run_id": "b"}, "record_exists": True, "leader": "running"}
    facts["leftovers"] = []
    assert process_of(facts, {"phase": "draining", "run_id": "a"}).state is ProcessState.RUNNING
    assert process_of(facts, {"phase": "draining", "run_id": "b"}).state is ProcessState.DRAINING


def test_a_run_file_that_cannot_be_read_is_unknown() -> None:
    facts = {"record": None, "record_exists": True, "leader": "", "leftovers": []}
    assert process_of(facts, None).state is ProcessState.UNKNOWN


def test_a_row_of_ps() -> None:
    row = ps.parse_row("  501     1   501 Ss   Mon Nov 30 12:18:00 2026    ")
    assert row is not None
    pid, (state, ppid, pgrp, _session, start) = row
    assert (pid, state, ppid, pgrp) == (501, "S", 1, 501)
    later = ps.parse_row("  501     1   501 Ss   Mon Nov 30 12:18:07 2026    ")
    assert later is not None
    assert later[1][4] - start == 7
    assert ps.parse_row("ps: no such option") is None


PS = """\
    1     0     1 Ss   Thu Oct  1 09:00:00 2026
  501     1   501 S+   Mon Nov 30 12:18:00 2026
  777   501   501 Z    Mon Nov 30 12:19:00 2026
ps: time: requires entitlement
"""


def test_the_table_of_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(ps, "_run", lambda argv: asked.append(argv) or PS)
    found = {pid: Stat(*fields) for pid, fields in ps.table().items()}
    assert sorted(found) == [1, 501, 777]
    assert (found[777].ppid, found[777].pgrp, found[777].dead) == (501, 501, True)
    assert (found[501].state, found[501].dead) == ("S", False)
    assert asked == [["ps", "-ax", "-o", "pid=,ppid=,pgid=,state=,lstart="]]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("python3 -m eagle3_core HOME=/Users/me EAGLE_RUN_ID=abc PWD=/\n", "abc"),
        ("EAGLE_RUN_ID=abc\n", "abc"),
        ("python3 NOT_EAGLE_RUN_ID=abc\n", None),
        ("", None),
    ],
)
def test_a_variable_as_ps_shows_it(
    monkeypatch: pytest.MonkeyPatch, output: str, expected: str | None
) -> None:
    monkeypatch.setattr(ps, "_run", lambda argv: output)
    assert ps.variable(501, "EAGLE_RUN_ID") == expected
