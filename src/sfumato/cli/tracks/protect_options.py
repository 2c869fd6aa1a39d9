"""The options of ``sfumato protect``, with their help: one line of the command each."""

from __future__ import annotations

import typer

from sfumato.tracks.noise.registry import MECHANISMS

SOURCES = typer.Argument(
    ...,
    metavar="INPUT...",
    help="The track: GPX, GeoJSON, CSV, Parquet, KML, TCX, FIT ...; or one person's archive: folders, several "
    "files, patterns, .gz, .zip, exports of Strava, Garmin and Google; or a dataset of many people: a folder that "
    "holds Parquet files only (with --engine spark at any address that Hadoop knows: hdfs://, s3a://, file://).",
)
OUTPUT = typer.Option(
    ...,
    "--output",
    "-o",
    metavar="PATH",
    help="The release; its ending names the format. A folder for an archive or a dataset.",
)
RADIUS = typer.Option("200m", help="Places up to this far apart stay indistinguishable (m, km, ft, mi).")
ODDS = typer.Option(None, help="Odds between two such places, 99 times in 100. Default 5.")
EPSILON = typer.Option(None, help="Instead of odds: the Rényi epsilon of order --order.")
NOISE = typer.Option(None, help="Instead of odds: the noise per coordinate (m, km); states the rest.")
LEVEL = typer.Option(None, help="Instead of odds: low, medium or high (odds 20, 5, 2).")
ORDER = typer.Option(5.0, help="Rényi order, greater than 1.")
MECHANISM = typer.Option("multiscale", help=f"One of {', '.join(MECHANISMS)}.")
PRIOR_CLASS = typer.Option(
    "day",
    "--class",
    help="Length scales covered: day (10 s - 6 h), week or year (for daily sharing). With --secrets nothing is "
    "promised over it: it is what secrets.loss_over_class is computed for.",
)
PRIOR = typer.Option(None, help="For prior-shaped and mixed: a preset's name, 'preset' for the default one, or 'fit'.")
WHITE_SHARE = typer.Option(None, help="Share of the noise variance that is white (multiscale 0.05, mixed 0.1).")
CONSTANT_SHARE = typer.Option(None, help="Share that is constant per person (multiscale about 0.2).")
REDRAWS = typer.Option(1, help="Without --state: one of this many releases, each with redrawn noise.")
SECRETS = typer.Option(None, help="Protect chosen times only: a GeoJSON of places, windows:10min, stays, or indices.")
STATE = typer.Option(None, help="The person's noise state (made if absent, 0600): later releases continue the noise.")
PASSPHRASE_FILE = typer.Option(None, help="Encrypt or open the state with the passphrase in this file.")
CERTIFICATE = typer.Option(None, help="Write the certificate (JSON) here.")
SIGN = typer.Option(None, help="Sign the certificate with the Ed25519 key in this PEM file.")
REPORT = typer.Option(None, help="Write the private report (HTML, 0600, shows the original) here.")
PUBLIC_REPORT = typer.Option(None, help="Write the report without the original here.")
LEDGER = typer.Option(
    None, help="Enter the release in this ledger (JSON, 0600) first; refused if it would pass the ledger's cap."
)
LEDGER_PERSON = typer.Option(
    None, "--ledger-person", help="Whose release this is: for the ledger, and for a state with ids."
)
CAP = typer.Option(None, help="Start the ledger with this cap: the loss per m² all releases may sum to.")
KEEP = typer.Option([], help="Keep this field of the track, e.g. elevation; repeat for more.")
SNAP = typer.Option("0.1m", help="Grid that released positions are snapped to, after the noise (m).")
TIME_ZONE = typer.Option(None, help="Time zone of times that name none, e.g. Europe/Paris or UTC.")
COLUMN = typer.Option([], help="Name a table's column by role, e.g. lat=Y; repeat for more.")
USER_COLUMN = typer.Option(None, help="The column that says whose each row is (the same as --column id=...).")
ONE_PERSON = typer.Option(False, "--one-person", help="All rows of a table and all files of a folder are one person's.")
FORMAT = typer.Option(None, help="The input's format, where ending and content do not tell.")
OUTPUT_FORMAT = typer.Option(None, help="The release's format, where the ending does not tell.")
TIMES = typer.Option("keep", help="keep, shift, relative, drop or coarse:5min: which times are released.")
ACCEPT_ODDS = typer.Option(
    False, "--accept-odds", help="With --secrets: release although the odds over the class are worse than 20 : 1."
)
KEEP_NAMES = typer.Option(False, "--keep-names", help="For an archive: keep the files' names.")
STRICT = typer.Option(
    False, "--strict", help="Write nothing if a file of an archive, or a row of a dataset, cannot be used."
)
STYLE = typer.Option(
    "noisy",
    help="noisy: the points as the noise left them; smooth: the likeliest track given them, with the same promise, "
    "fit to look at (the noisy points are then not written).",
)
REPORT_PERSON = typer.Option(None, help="For a table of people: the reports are about this one person (an id).")
ENGINE = typer.Option("local", help="For a dataset: local (all cores of this machine) or spark.")
MASTER = typer.Option(
    None, help="With --engine spark: the cluster, e.g. local[2] or spark://host:7077; spark-submit's by default."
)
SEED = typer.Option(None, help="A simulation with this seed: anybody can repeat it, so it protects nothing.")
JSON = typer.Option(False, "--json", help="Print one JSON object and nothing else.")
