"""One-shot click reports: a server that trains and serves on what devices report once, under a guarantee that holds.

Read in this order: `collect` (what the devices send), `interest` (from noised counts to a reader's interest),
`click_evidence` (unbiased, from noised labels), `likelihood` and `fit` (training), `click_reports`.
"""
