"""Everything that a service imports, for a process that services are forked from."""

# ruff: noqa: F401 - loaded is all that they shall be

import uvicorn.lifespan.on
import uvicorn.loops.auto

import variegate.kernels.loops.lmdh
import variegate.service.run
import variegate.store.postgres
