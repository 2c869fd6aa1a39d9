"""Files written whole or not at all, and locks: the only place that renames, flushes or locks.

A file is filled beside its target and renamed over it, so that nobody ever reads half of one. Public files get the
permissions of the user's umask; private ones 0600 from their first byte. ``durable`` files are on the disk, with their
name, before the call returns: for what must not be forgotten once something that depends on it was shown.

What a killed process was filling stays beside its target under a hidden name that says who filled it;
:func:`remove_leftovers` takes such files away once that process is gone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from sfumato.base.errors import InputError, SfumatoError

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

_PUBLIC, _PRIVATE = 0o666, 0o600


def write_whole(
    path: str | Path, write: Callable[[Path], object], *, private: bool = False, durable: bool = False
) -> Path:
    """Let ``write`` fill a temporary file beside ``path``, then rename it: nothing is ever half-written."""
    target = Path(path)
    if re.fullmatch(rf"\..*\.{_machine()}-{os.getpid():x}-[0-9a-f]{{12}}.*", target.name) and target.exists():
        with _said(target):  # it is being filled beside its own target already
            _fill(target, write, private=private, durable=durable)
        return target
    with _said(target), _filled(target, write, private=private, durable=durable) as temporary:
        temporary.replace(target)
        if durable:
            _flush_folder(target.parent)
    return target


def write_text(path: str | Path, text: str, *, private: bool = False, durable: bool = False) -> Path:
    """:func:`write_whole` for a text, in UTF-8 with the line ends it has."""
    return write_whole(path, _text(text), private=private, durable=durable)


def create_text(path: str | Path, text: str, *, private: bool = False) -> Path:
    """A new durable file; one that is already there is never touched (:class:`FileExistsError`)."""
    target = Path(path)
    with _said(target), _filled(target, _text(text), private=private, durable=True) as temporary:
        os.link(temporary, target)
        _flush_folder(target.parent)
    return target


def checked_target(path: str | Path) -> Path:
    """Where a file shall be written, refused where that cannot be done: also before the work that makes it."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"Cannot write {target}: it is a folder.", "Name a file in it.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {target}: there is no folder {target.parent}.", "Make it, or choose another.")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InputError(f"Cannot write {target}: permission denied.", "Choose another name.")
    return target


class Staged:
    """Several files together: all of them, or none and everything as it was before.

    Files are filled beside their targets by :meth:`add`, and put in place by :meth:`commit`. Leaving the ``with`` block
    without a commit removes what was filled. If putting one in place fails, those already placed are taken away again
    and what they replaced comes back.
    """

    def __init__(self) -> None:
        self._files: list[tuple[Path, Path]] = []
        self._placed: list[tuple[Path, Path | None]] = []
        self._backups: list[Path] = []

    def __enter__(self) -> Staged:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for leftover in (*(temporary for temporary, _ in self._files), *self._backups):
            leftover.unlink(missing_ok=True)

    def add(self, path: str | Path, write: Callable[[Path], object], *, private: bool = False) -> Path:
        """Let ``write`` fill a temporary file beside ``path``; returns that file."""
        target = checked_target(path)
        with _said(target):
            temporary = _fresh_beside(target, _PRIVATE if private else _PUBLIC)
            self._files.append((temporary, target))
            _fill(temporary, write, private=private, durable=False)
        return temporary

    def add_text(self, path: str | Path, text: str, *, private: bool = False) -> Path:
        """:meth:`add` for a text, in UTF-8."""
        return self.add(path, _text(text), private=private)

    def commit(self, *, last: str | Path | None = None) -> None:
        """Put every file in place, or none; ``last`` after all others, so that a kill never leaves it alone.

        What ``last`` replaces is set aside before anything else, so that it never stands beside what belongs to its
        successor either.
        """
        try:
            if last is not None:
                with _said(Path(last)):
                    self._set_aside(Path(last))
            for temporary, target in sorted(self._files, key=lambda file: last is not None and file[1] == Path(last)):
                with _said(target):
                    self._place(temporary, target)
        except BaseException:  # an interrupt too: what was set aside comes back
            self._undo()
            raise
        remove_leftovers(*(target for _, target in self._files))
        self._files.clear()

    def _place(self, temporary: Path, target: Path) -> None:
        self._set_aside(target)
        self._placed.append((target, None))
        temporary.replace(target)

    def _set_aside(self, target: Path) -> None:
        if target.exists():
            backup = _fresh_beside(target, _PRIVATE)
            self._backups.append(backup)
            target.replace(backup)
            self._placed.append((target, backup))

    def _undo(self) -> None:
        for target, backup in reversed(self._placed):
            if backup is not None:
                backup.replace(target)
            else:
                target.unlink(missing_ok=True)
        self._placed.clear()


@contextlib.contextmanager
def lock_file(path: str | Path, *, wait: bool = True) -> Iterator[None]:
    """One holder at a time of ``path``, by a lock on ``path.lock``: waits for it, or raises :class:`BlockingIOError`.

    The lock ends with its process, however that ends, and its file goes with it: a name that was taken away while one
    waited is not the one that was locked, so it is opened again.
    """
    lock = Path(path).with_name(Path(path).name + ".lock")
    while True:
        with _said(lock):
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, _PRIVATE)
        try:
            _take(handle, wait)
            if _still_names(lock, handle):
                break
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows removes no open file: it stays, and does no harm
            lock.unlink()
        os.close(handle)


def _take(handle: int, wait: bool) -> None:
    if sys.platform == "win32":  # pragma: no cover
        try:
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "locked by another process") from error
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _still_names(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _fresh_beside(target: Path, mode: int) -> Path:
    """An empty new file in the folder of ``target`` with its ending; ``mode`` is narrowed by the user's umask."""
    who = f"{_machine()}-{os.getpid():x}-{secrets.token_hex(6)}"
    name = target.with_name(f".{target.name[:80]}.{who}{target.suffix}")
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return name


def remove_leftovers(*targets: str | Path) -> list[Path]:
    """Take away what processes that are gone were filling for ``targets``, or had set aside; returns the names.

    Only files of this machine are touched: whether a process of another one still runs cannot be told from here.
    """
    removed: list[Path] = []
    if sys.platform == "win32":  # pragma: no cover  # asking for a process would end it there
        return removed
    for target in map(Path, targets):
        form = re.compile(
            re.escape(f".{target.name[:80]}.{_machine()}-") + "([0-9a-f]+)-[0-9a-f]{12}" + re.escape(target.suffix)
        )
        with contextlib.suppress(OSError):  # a folder that cannot be listed is not ours to clean
            for name in os.listdir(target.parent):
                found = form.fullmatch(name)
                if found and not runs(int(found[1], 16)):
                    target.with_name(name).unlink(missing_ok=True)
                    removed.append(target.with_name(name))
    return removed


def _machine() -> str:
    """The machine's name as six hexadecimals: enough to know one's own leftovers."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:6]


def runs(process: int) -> bool:
    """Whether a process of this machine is there."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True


@contextlib.contextmanager
def _filled(target: Path, write: Callable[[Path], object], *, private: bool, durable: bool) -> Iterator[Path]:
    temporary = _fresh_beside(target, _PRIVATE if private else _PUBLIC)
    try:
        _fill(temporary, write, private=private, durable=durable)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _fill(temporary: Path, write: Callable[[Path], object], *, private: bool, durable: bool) -> None:
    write(temporary)
    if private:
        temporary.chmod(_PRIVATE)  # a writer may have made the file anew
    if durable:
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _text(text: str) -> Callable[[Path], object]:
    # A file's name need not be UTF-8: what is none is written as \udcff, in the summary and on pages.
    return lambda path: path.write_bytes(text.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def _said(target: Path) -> Iterator[None]:
    try:
        yield
    except (SfumatoError, FileExistsError):
        raise
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}.", "Choose a folder you can write to.") from error


def erase(path: Path) -> None:
    """Zeros over a file, on the disk, then no file: for keys."""
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()
