"""The HTTP server of a run: it ranks a public catalogue with what devices released, and never sees a history.

Read in this order: `messages` (what travels), `terms` (which releases are taken), `snapshot` and `ranker` (the
catalogue in memory and how it is ranked), `tables` and `store` (what is kept), `journal` (how reports are kept),
`keeper` (what happens in the background), `app` (the endpoints), `gate` (limits) and `server`.
"""
