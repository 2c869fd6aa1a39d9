"""Files are whole or absent, private from their first byte, and locks end with their holder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sfumato.base.errors import BudgetExceeded, InputError
from sfumato.base.files import Staged, create_text, lock_file, remove_leftovers, write_text, write_whole


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.write_text("half")
        raise InputError("stopped half way.")

    (tmp_path / "out.txt").write_text("precious")
    with pytest.raises(InputError, match="stopped half way"):
        write_whole(tmp_path / "out.txt", write)
    assert [(item.name, item.read_text()) for item in tmp_path.iterdir()] == [("out.txt", "precious")]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize(("umask", "public"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_public_files_follow_the_umask_and_private_ones_are_for_their_owner(
    tmp_path: Path, umask: int, public: int
) -> None:
    seen: list[int] = []
    before = os.umask(umask)
    try:
        write_text(tmp_path / "public", "a")
        write_whole(tmp_path / "private", lambda path: seen.append(permissions(path)), private=True, durable=True)
        with Staged() as staged:
            staged.add_text(tmp_path / "staged", "a")
            staged.add_text(tmp_path / "secret", "b", private=True)
            staged.commit()
        create_text(tmp_path / "new", "c", private=True)
    finally:
        os.umask(before)
    assert seen == [0o600]
    assert {name: permissions(tmp_path / name) for name in ("public", "staged")} == {"public": public, "staged": public}
    assert {permissions(tmp_path / name) for name in ("private", "secret", "new")} == {0o600}


def test_a_text_keeps_its_line_ends_and_what_is_there_is_replaced_or_kept_as_asked(tmp_path: Path) -> None:
    target = write_text(tmp_path / "a.txt", "é\r\nb\n")
    assert target.read_bytes() == "é\r\nb\n".encode()
    with pytest.raises(FileExistsError):
        create_text(target, "other")
    assert target.read_bytes() == "é\r\nb\n".encode()
    assert write_text(target, "other").read_text() == "other"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]


def test_what_cannot_be_written_is_said_and_an_error_of_ours_stays_what_it_is(tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise BudgetExceeded("over the cap.")  # also a PermissionError, hence an OSError

    for call in (write_text, create_text):
        with pytest.raises(InputError, match=r"Cannot write .*absent"):
            call(tmp_path / "absent" / "a", "text")
    with pytest.raises(InputError, match="absent"), lock_file(tmp_path / "absent" / "a"):
        pass
    with pytest.raises(BudgetExceeded, match="over the cap"):
        write_whole(tmp_path / "a", refuse)
    with Staged() as staged, pytest.raises(InputError, match="it is a folder"):
        staged.add_text(tmp_path, "text")


def test_staged_files_come_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old a")
    with Staged() as staged:
        staged.add_text(tmp_path / "a", "new a")
        staged.add_text(tmp_path / "b", "new b")
        (tmp_path / "b").mkdir()  # what happens meanwhile
        with pytest.raises(InputError, match="Cannot write"):
            staged.commit()
    assert (tmp_path / "a").read_text() == "old a"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    (tmp_path / "b").rmdir()
    with Staged() as staged:
        staged.add_text(tmp_path / "a", "never committed")
    assert (tmp_path / "a").read_text() == "old a"
    with Staged() as staged:
        staged.add(tmp_path / "a", lambda path: path.write_text("new a"))
        staged.add_text(tmp_path / "b", "new b", private=True)
        staged.commit()
    assert (tmp_path / "a").read_text() == "new a"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_lock_has_one_holder_and_leaves_no_file(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")

    def add() -> None:
        for _ in range(25):
            with lock_file(counter):
                write_text(counter, str(int(counter.read_text()) + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read_text() == "100"
    with lock_file(counter), pytest.raises(BlockingIOError), lock_file(counter, wait=False):
        pass
    assert [item.name for item in tmp_path.iterdir()] == ["counter"]


def test_a_lock_ends_with_the_process_that_held_it(tmp_path: Path) -> None:
    code = "import os, sys; from sfumato.base.files import lock_file; held = lock_file(sys.argv[1]); "
    code += "held.__enter__(); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], check=False).returncode == 9
    assert (tmp_path / "a.lock").exists()
    with lock_file(tmp_path / "a", wait=False):
        pass
    assert not (tmp_path / "a.lock").exists()


@pytest.mark.skipif(os.name != "posix", reason="asks for a process")
def test_what_a_killed_process_left_is_taken_away_and_what_a_living_one_fills_is_not(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    code = (
        "import os, signal, sys; from sfumato.base.files import write_whole\n"
        "write_whole(sys.argv[1], lambda path: os.kill(os.getpid(), signal.SIGKILL))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(target)], check=False).returncode < 0
    [left] = tmp_path.iterdir()
    assert remove_leftovers(tmp_path / "other.txt", tmp_path / "nowhere" / "out.txt") == []
    (tmp_path / ".out.txt.mine.txt").write_text("somebody's own")
    with Staged() as staged:
        living = staged.add_text(target, "a")
        assert remove_leftovers(target) == [left]
        assert living.exists()
        staged.commit()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.txt.mine.txt", "out.txt"]


def test_a_file_that_is_being_filled_beside_its_target_needs_no_second_one(tmp_path: Path) -> None:
    seen: list[int] = []

    def write(path: Path) -> None:
        write_text(path, "a")
        seen.append(len(list(tmp_path.iterdir())))

    write_whole(tmp_path / "out.txt", write)
    assert seen == [1]
    assert (tmp_path / "out.txt").read_text() == "a"
