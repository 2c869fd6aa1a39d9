"""``sfumato protect --engine spark``: the session, and the job on it.

Run by ``sfumato protect ... --engine spark --master ...``, or by spark-submit, which takes this very file::

    job=$(python -c "import sfumato.cli.tracks.protected_spark as job; print(job.__file__)")
    spark-submit --master yarn --num-executors 8 "$job" hdfs:///rides -o hdfs:///shared --user-column user_id
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.base.errors import InputError, MissingExtra
from sfumato.tracks.certificates.state import NoiseState
from sfumato.tracks.folders.rows.dataset import DatasetReading
from sfumato.tracks.folders.rows.parts import DatasetResult
from sfumato.tracks.folders.spark.spark_job import protect_dataset_on_spark
from sfumato.tracks.folders.statement import Sign
from sfumato.tracks.plan import Plan

try:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
except ImportError as error:
    raise MissingExtra("pyspark", "spark") from error


def protect_on_spark(
    where: tuple[str, str, str | None],
    plan: Plan,
    *,
    reading: DatasetReading,
    state: NoiseState | None,
    strict: bool,
    sign: Sign | None,
    rng: int | None,
) -> DatasetResult:
    """The dataset at one address protected into another, on this cluster; the session ends with the job."""
    source, out, master = where
    with _session(master) as spark:
        return protect_dataset_on_spark(
            spark, source, out, plan, reading=reading, state=state, strict=strict, sign=sign, rng=rng
        )


@contextmanager
def _session(master: str | None) -> Iterator[SparkSession]:
    """A session on ``master``, or on what spark-submit or the settings say."""
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


if __name__ == "__main__":
    from sfumato.cli import main

    sys.argv[1:] = ["protect", *sys.argv[1:], "--engine", "spark"]
    main()
