"""Everything that a service imports, for a process that services are forked from."""

# ruff: noqa: F401 - loaded is all that they shall be

import sqlalchemy.dialects.postgresql.psycopg
import sqlalchemy.dialects.sqlite.pysqlite
import uvicorn.lifespan.on
import uvicorn.loops.auto

import variegate.kernels.loops.lmdh
import variegate.service.run
import variegate.store.engine
import variegate.store.migrations
import variegate.store.postgres
