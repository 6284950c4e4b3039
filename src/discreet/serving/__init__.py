"""The HTTP server of a run: it ranks a public catalogue with what devices released, and never sees a history.

Read in this order: `api_messages` (what travels), `sketch_terms` (which releases are taken), `snapshot` and `ranker`
(the catalogue in memory and how it is ranked), `tables` and `store` (what is kept), `journal` (how reports are kept),
`updater` (what happens in the background), `endpoints` (the endpoints), `gate` (limits) and `server`.
"""
