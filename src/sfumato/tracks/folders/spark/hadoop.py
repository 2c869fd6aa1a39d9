"""A folder wherever Spark can write (``hdfs://``, ``s3a://``, ``file://``): small files, names, renames.

Addresses go to Hadoop letter for letter. Only the driver uses this; rows are read and written by Spark's own tasks.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.base.errors import InputError, MissingExtra

try:
    from py4j.java_gateway import JavaObject
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error


class HadoopFolder:
    """A folder by its address; names in it are given with ``/`` between them."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self.address = address.rstrip("/") if address.strip("/") else address
        self._jvm = spark.sparkContext._jvm
        try:
            root = self._jvm.org.apache.hadoop.fs.Path(self.address)
            self._fs = root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        except Py4JError as error:
            raise InputError(
                f"Spark cannot reach {address}.", "Check the address, and that Spark has the packages for it."
            ) from error
        if self._fs.getScheme() == "file":  # without Hadoop's .crc file beside each
            self._fs = self._fs.getRawFileSystem()

    def _path(self, name: str) -> object:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.address}/{name}" if name else self.address)

    @property
    def path(self) -> str:
        """Its address without the store."""
        return str(self._fs.makeQualified(self._path("")).toUri().getPath())

    def has(self, name: str = "") -> bool:
        """Whether the folder, or a file or folder in it, is there."""
        return bool(self._fs.exists(self._path(name)))

    def names(self, name: str = "") -> list[str]:
        """What lies in it, without what Hadoop hides with a dot, in order."""
        if not self.has(name):
            return []
        found = (status.getPath().getName() for status in self._fs.listStatus(self._path(name)))
        return sorted(one for one in found if not one.startswith("."))

    def make(self, name: str = "", *, private: bool = False) -> None:
        """The folder, for its owner only where it is private (and where the store knows owners)."""
        mode = self._jvm.org.apache.hadoop.fs.permission.FsPermission("700" if private else "755")
        if not self._fs.mkdirs(self._path(name), mode):
            raise InputError(f"Cannot make {self.address}/{name}.", "Choose a folder you can write to.")

    def read(self, name: str) -> str:
        """A small file's text."""
        with_io = self._jvm.org.apache.commons.io.IOUtils
        stream = self._fs.open(self._path(name))
        try:
            return bytes(with_io.toByteArray(stream)).decode()
        finally:
            stream.close()

    def footer(self, address: str) -> pq.FileMetaData:
        """What a Parquet file of this store says of itself, read from its end alone."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(address))
        size = self._fs.getFileStatus(path).getLen()
        stream = self._fs.open(path)
        try:
            length = int.from_bytes(self._from(stream, max(0, size - 8))[:4], "little")
            footer = self._from(stream, max(0, size - 8 - length))
        finally:
            stream.close()
        try:
            return pq.read_metadata(pa.BufferReader(b"PAR1" + footer))
        except (pa.ArrowException, OSError) as error:
            raise InputError("A file is no Parquet that can be read.", "Take it out of the folder.") from error

    def _from(self, stream: JavaObject, place: int) -> bytes:
        stream.seek(place)
        return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))

    def create(self, name: str, text: str) -> None:
        """A new small file; one that is there is never touched."""
        try:
            stream = self._fs.create(self._path(name), False)
        except Py4JError as error:
            raise InputError(
                f"Cannot write {self.address}/{name}.", "It is there already, or the folder cannot be written to."
            ) from error
        stream.write(bytearray(text.encode()))
        stream.close()

    def move_from(self, other: HadoopFolder, source: str, target: str) -> None:
        """Rename a file of another folder of the same store into this one."""
        if not self._fs.rename(other._path(source), self._path(target)):
            raise InputError(f"Cannot put {target} into {self.address}.", "Check the folder, and start again to go on.")

    def remove(self) -> None:
        """The folder and all that is in it."""
        self._fs.delete(self._path(""), True)
