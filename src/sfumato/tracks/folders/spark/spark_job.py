"""``sfumato protect`` of a dataset on Spark: the local job's parts, certificate, manifest and rejects, anywhere.

Spark reads the rows, deals them out by person, and writes the parts into a private folder beside the output; from there
they are counted and hashed, certified, and renamed into place, the manifest last. A lost worker or executor is Spark's
to replace, and changes nothing. A driver that is killed before the release is complete leaves nothing that anybody was
shown: the next start removes it and draws anew. Killed while renaming, the next start goes on renaming.

*Whom the key is shown to.* The driver's memory, and the executors' inside the pickled function: the processes that see
the rows. Spark keeps functions and shuffled rows in its own temporary folders (``spark.local.dir``) while it runs, so
they deserve the same care; ``spark.io.encryption.enabled`` and ``spark.network.crypto.enabled`` encrypt both. We write
the key to no file: there is none to remove, and it is gone when the application ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Unpack

from sfumato.base.errors import InputError, MissingExtra, SfumatoError
from sfumato.base.files import runs
from sfumato.base.randomness import Random
from sfumato.tracks.certificates.build import refuse_other_times
from sfumato.tracks.certificates.document import CERTIFICATE_NAME, certificate_text
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.certificates.verify import Document
from sfumato.tracks.folders.rows.dataset import DatasetResult, JobTally, manifest_text, part_name
from sfumato.tracks.folders.rows.dataset_job import PART_ROWS, Running, holds_a_release
from sfumato.tracks.folders.rows.people_notes import noisy_statement
from sfumato.tracks.folders.spark.blocks import IDS, PARTS, REJECTED, DatasetWork
from sfumato.tracks.folders.spark.hadoop import HadoopFolder
from sfumato.tracks.folders.spark.parquet_rows import dataset_of, folder_of, released_files, said_of, write_files
from sfumato.tracks.folders.staging import MANIFEST_NAME, REJECTS_NAME
from sfumato.tracks.noise.interface import Json
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.people.noise import Noise, choose_for_people
from sfumato.tracks.plan import Plan

try:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error

_READY, _JOB, _MADE = "ready.json", "job.json", "made"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "true",  # cast to what the file says
}


def protect_dataset_on_spark(
    spark: SparkSession,
    source: str,
    out: str,
    plan: Plan,
    *,
    state: NoiseState | None = None,
    priced: Callable[[Document], None] | None = None,
    rng: Random = None,
    **how: Unpack[Running],
) -> DatasetResult:
    """Every usable row of the Parquet dataset at ``source`` with noise, in ``out``; see ``protect_dataset``.

    The same seed (or state) writes for each person the same bytes as there, in the types and the codec of the files.
    """
    if plan.secrets is not None:
        raise InputError("Secrets are chosen moments of one track, not of a dataset.", "Hide places with sfumato hide.")
    with spark_words(), session_settings(spark):
        target, private, ids = (HadoopFolder(spark, out.rstrip("/") + end) for end in ("", ".private", ".ids"))
        asked = [source, plan.to_dict(), how.get("reading"), state is not None, how.get("strict", False), str(rng)]
        wish = hashlib.sha256(json.dumps(asked, default=str, sort_keys=True).encode()).hexdigest()
        ready = _begun(target, private, wish)
        if ready is None:
            if ids.has():
                raise InputError(f"{ids.address} holds the private list of another release.", "Move it elsewhere.")
            try:
                noise = replace(choose_for_people(plan, rng=rng, state=state), new_ids=plan.ids != "keep")
                ready = _made(spark, source, private, noise, priced, **how)
                private.create(_READY, json.dumps({"wish": wish, **ready}))
            except BaseException:
                private.remove()
                raise
        return _placed(target, private, ids, ready)


def _begun(target: HadoopFolder, private: HadoopFolder, wish: str) -> Json | None:
    """The complete release of an earlier run, or None after the private folder was made for this one."""
    ready: Json | None = None
    if private.has(_READY):
        ready = json.loads(private.read(_READY))
        if ready["wish"] != wish:
            raise InputError(
                "Another release towards this folder is complete and not yet in place.",
                f"Start that job again with its own options, or remove {private.address}: it has not been shared yet.",
            )
        return ready
    if target.has(MANIFEST_NAME):
        raise InputError(*holds_a_release(target.address))
    if target.names():
        raise InputError(f"{target.address} holds other files.", "Use an empty folder, which then opens as a dataset.")
    if private.has():
        _refuse_running(private)
        private.remove()
    private.make(private=True)
    private.create(_JOB, json.dumps({"machine": platform.node(), "process": os.getpid()}))
    return None


def _refuse_running(private: HadoopFolder) -> None:
    """Another driver's folder: taken away only if that ran on this machine and is gone."""
    if not private.has(_JOB):
        return
    known = json.loads(private.read(_JOB))
    gone = known["machine"] == platform.node() and not runs(known["process"])
    if not gone:
        raise InputError(
            f"Another job is filling this folder, or was killed on {known['machine']}.",
            f"Wait for it; if it is gone, remove {private.address}: nothing in it has been shared.",
        )


def _made(
    spark: SparkSession,
    source: str,
    private: HadoopFolder,
    noise: Noise,
    priced: Callable[[Document], None] | None,
    **how: Unpack[Running],
) -> Json:
    """The parts and the rejects in the private folder, and everything that is said of them."""
    given = spark.read.options(mergeSchema=True, ignoreCorruptFiles=False, ignoreMissingFiles=False).parquet(source)
    dataset, files = dataset_of(given, HadoopFolder(spark, source))
    reading, plan = how.get("reading", TableReading()), noise.plan
    layout = reading.layout(dataset.schema, plan.keep, plan.times, declared=True)
    refuse_other_times(noise.terms(several_files=True))  # before all rows are read
    rows = given.count()
    buckets = max(1, -(-rows // PART_ROWS))
    work = DatasetWork(dataset, layout, replace(noise, parts=buckets), buckets, files)
    write_files(released_files(given, work), f"{private.address}/{_MADE}")
    said = said_of(spark, private, _MADE)
    released = sum(points for _, _, points in said.parts.values())
    tally = JobTally(rows, released, sum(said.spread.values()), said.rejected, said.spread)
    if released + sum(said.rejected.values()) != rows:
        raise InputError("Rows came out more or less often than once.", "The dataset changed meanwhile? Start again.")
    if how.get("strict"):
        tally.refuse_faults()
    tally.require_rows()
    listed = [(part_name(bucket), digest, points) for bucket, (_, digest, points) in sorted(said.parts.items())]
    return {
        "document": noisy_statement(listed, layout, noise, tally, said.proposed, priced).document(how.get("sign")),
        "manifest": manifest_text(listed, tally),
        "parts": {name: part_name(bucket) for bucket, (name, _, _) in said.parts.items()},
        "rejects": private.names(f"{_MADE}/{folder_of(REJECTED)}"),
        "ids": private.names(f"{_MADE}/{folder_of(IDS)}"),
    }


def _placed(target: HadoopFolder, private: HadoopFolder, ids: HadoopFolder, ready: Json) -> DatasetResult:
    """The certificate, every part, the rejects, the private list of ids, then the manifest; what is there stays."""
    target.make()
    if not target.has(CERTIFICATE_NAME):
        target.create(CERTIFICATE_NAME, certificate_text(ready["document"]))
    moves = [(f"{_MADE}/{folder_of(PARTS)}/{name}", to) for name, to in ready["parts"].items()]
    if ready["rejects"]:
        target.make(REJECTS_NAME)
    rejects = f"{_MADE}/{folder_of(REJECTED)}"
    moves += [(f"{rejects}/{name}", f"{REJECTS_NAME}/{part_name(k)}") for k, name in enumerate(ready["rejects"])]
    for name, to in moves:
        if private.has(name):
            target.move_from(private, name, to)
        elif not target.has(to):
            raise InputError(f"{to} is neither staged nor in place.", "The release is lost; begin anew.")
    if ready["ids"]:
        ids.make(private=True)
    for k, name in enumerate(ready["ids"]):
        if private.has(listed := f"{_MADE}/{folder_of(IDS)}/{name}"):
            ids.move_from(private, listed, part_name(k))
    if not target.has(MANIFEST_NAME):
        target.create(MANIFEST_NAME, ready["manifest"])
    private.remove()
    return DatasetResult.of(ready["document"], ready["manifest"])


@contextmanager
def session_settings(spark: SparkSession) -> Iterator[None]:
    """Ours while the job runs, then the session's own again."""
    # Several tasks for each core: all end at about the same time.
    ours = {**_SETTINGS, "spark.sql.files.minPartitionNum": str(4 * spark.sparkContext.defaultParallelism)}
    before = {name: spark.conf.get(name, None) for name in ours}
    for name, value in ours.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)


@contextmanager
def spark_words() -> Iterator[None]:
    """What Spark raises, in words: the first line of ours where one of ours stopped a worker."""
    try:
        yield
    except SfumatoError:
        raise
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines()]
        ours = next((line for line in lines if line.startswith("sfumato.base.errors.")), None)
        if ours is not None:
            raise InputError(ours.split(": ", 1)[-1]) from None
        if any("No module named 'sfumato" in line for line in lines):
            raise InputError("The executors do not have sfumato.", "Install it there, as on the driver.") from None
        first = next((line for line in lines if line), type(error).__name__)
        raise InputError(f"Spark stopped: {first[:300]}", "Nothing was released; its log says more.") from None


@contextmanager
def session_on(master: str | None) -> Iterator[SparkSession]:
    """A session on ``master``, or on what spark-submit or the settings say; it ends with the job."""
    if (master or "").startswith("local"):  # workers of this machine are this very Python
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("sfumato protect")
    builder = builder if master is None else builder.master(master)
    try:
        spark = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower()).getOrCreate()
    except (PySparkException, RuntimeError, OSError) as error:
        said = f"Spark does not start ({type(error).__name__})."
        raise InputError(said, "It needs Java from 17 on, and --master or spark-submit must name a cluster.") from error
    try:
        yield spark
    finally:
        spark.stop()
