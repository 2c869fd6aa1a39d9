"""Several files written together: all of them, or none and everything as it was before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from sfumato.errors import InputError


class Staged:
    """Files are filled beside their targets by :meth:`add`, and put in place by :meth:`commit`.

    Leaving the ``with`` block without a commit removes what was filled. If putting one in place fails, those
    already placed are taken away again and what they replaced comes back.
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
        for temporary, _ in self._files:
            temporary.unlink(missing_ok=True)
        for backup in self._backups:
            backup.unlink(missing_ok=True)

    def add(self, path: str | Path, write: Callable[[Path], None], *, mode: int = 0o644) -> Path:
        """Let ``write`` fill a temporary file beside ``path``; returns that file."""
        target = Path(path)
        if target.is_dir():
            raise InputError(f"Cannot write {target}: it is a folder.", "Name a file in it.")
        if target.exists() and not os.access(target, os.W_OK):
            raise InputError(f"Cannot write {target}: permission denied.", "Choose another name.")
        try:
            handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent or ".")
            os.close(handle)
            temporary = Path(name)
            self._files.append((temporary, target))
            write(temporary)
            temporary.chmod(mode)
        except OSError as error:
            raise _unwritable(target, error) from error
        return temporary

    def commit(self) -> None:
        """Put every file in place, or none."""
        try:
            for temporary, target in self._files:
                backup = None
                if target.exists():
                    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".before", dir=target.parent)
                    os.close(handle)
                    backup = Path(name)
                    self._backups.append(backup)
                    os.replace(target, backup)
                self._placed.append((target, backup))
                os.replace(temporary, target)
        except OSError as error:
            self._undo()
            raise _unwritable(target, error) from error
        self._files.clear()

    def _undo(self) -> None:
        for target, backup in reversed(self._placed):
            if backup is not None:
                os.replace(backup, target)
            else:
                target.unlink(missing_ok=True)
        self._placed.clear()


def _unwritable(target: Path, error: OSError) -> InputError:
    return InputError(f"Cannot write {target}: {error.strerror}.", "Choose a folder you can write to.")
