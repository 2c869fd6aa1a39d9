"""What several migrations do: make a table append-only, and add a column that older rows do not have."""

from __future__ import annotations

from collections.abc import Callable

from alembic import op

from sfumato.collect.service.store.schema import columns

_FORBID_SQLITE = """
CREATE TRIGGER {table}_no_{verb} BEFORE {VERB} ON {table}
BEGIN SELECT RAISE(ABORT, '{called} is append-only'); END
"""
_FORBID_REPLACING = """
CREATE TRIGGER {table}_no_replacement BEFORE INSERT ON {table}
WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})
BEGIN SELECT RAISE(ABORT, '{called} is append-only'); END
"""
_FORBID_POSTGRES = (
    """
CREATE FUNCTION {table}_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{called} is append-only'; END $$
""",
    """
CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION {table}_is_append_only()
""",
)
Step = Callable[[], None]


def forbid_changes(table: str, called: str) -> None:
    """Rows of ``table`` are only ever added."""
    if op.get_bind().dialect.name == "sqlite":
        for verb in ("update", "delete"):
            op.execute(_FORBID_SQLITE.format(table=table, called=called, verb=verb, VERB=verb.upper()))
    else:
        for statement in _FORBID_POSTGRES:
            op.execute(statement.format(table=table, called=called))


def forbid_replacing(table: str, called: str, same: str) -> None:
    """Close the way around that SQLite leaves: INSERT OR REPLACE fires no trigger of deletion.

    PostgreSQL's trigger of updates covers ON CONFLICT DO UPDATE.
    """
    if op.get_bind().dialect.name == "sqlite":
        op.execute(_FORBID_REPLACING.format(table=table, called=called, same=same))


def column_added(table: str, described: str) -> tuple[Step, Step]:
    """(upgrade, downgrade): a column that rows from before do not have, and that goes again alone."""

    def upgrade() -> None:
        op.add_column(table, *columns(described))

    return upgrade, lambda: op.drop_column(table, described.split()[0])
