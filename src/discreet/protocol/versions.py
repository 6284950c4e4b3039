"""The versions of all that crosses a wire. Who reads another version refuses it; a change of bytes needs a new one.

The API between device and server has its version in `schema.json` (`protocol.check.API`).
"""

RELEASE = 1
"""The bytes of a release (`privacy.release_format`)."""
SECURE_SUM = 1
"""The messages of the secure sum, and the requests to nodes and answers of theirs around them."""
TRAINING_JOB = 3
"""What a server tells nodes of a training (`methods.training_job`)."""
SHARING_JOB = 4
"""What a server tells vendors of a sharing (`vendors.sharing.job`)."""
SHARING_JOBS_READ = (3, 4)
"""Those that can be answered and read: since 4, projections are asked for twice, and use more items."""
VDAF = 18
"""The draft of Prio3 (`aggregation.prio3`)."""
DAP = 18
"""The draft of DAP (`aggregation.dap`)."""
