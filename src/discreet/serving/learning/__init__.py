"""Learning while serving: windows close on their schedule, noised sums come in, and popularity is renewed.

- `window_store`: which windows have closed, what was learnt from their sums, and from which; all SQL is there
- `sum_popularity`: each article's click rate, as `front_page` learns it, over a catalogue that changes
- `window_learner`: closes windows, collects their sums, and learns from each once
- `logged_exposure`: what was shown, where the publisher logs it, and which articles are due
- `retrain`: learns again from sums that are kept
- `one_process_trial`: both aggregators in one process, to try it out
"""
