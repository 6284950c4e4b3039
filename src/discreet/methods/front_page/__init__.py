"""`front_page`: the device ranks with its exact history, and popularity comes from noised sums over all readers.

- `public`: what everybody may know: title vectors, categories, what was shown
- `features`: what a device makes of its history, for each candidate
- `windows`: the sums: at most one click of a reader counts a day
- `likelihood`, `popularity`: what the released sums tell of each article's click rate
- `weights`: how much each feature counts, fixed beforehand on generated worlds; `refit` fits them again
- `method`: all of it as a method, with its guarantee
"""
