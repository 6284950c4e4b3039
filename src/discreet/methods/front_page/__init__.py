"""`front_page`: the device ranks with its exact history, and popularity comes from noised sums over all readers.

- `public_articles`: what everybody may know: title vectors, categories, what was shown
- `history_features`: what a device makes of its history, for each candidate
- `windows`: the sums, in which few clicks of a reader count a day
- `count_likelihood`, `click_rates`: what the released sums tell of each article's click rate
- `weights`: how much each feature counts, fixed beforehand on generated worlds; `refit` fits them again
- `learnt_weights`: the same weights, learnt from one more sum a day
- `head`, `head_articles`, `denoised_matrix`: which interests go together, learnt from one more sum; `head_judges`:
  whether it ranks better
- `daily_budget`: how ε is divided between them
- `front_page`: all of it as a method, with its guarantee
"""
