"""How alembic reaches the database: through the connection the store hands it, in the store's transaction."""

from __future__ import annotations

from alembic import context

from sfumato.collect.service.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
