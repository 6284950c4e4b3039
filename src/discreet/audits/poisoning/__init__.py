"""Readers who lie: what a few of them do to a training, and to a sum.

- `liars`: an untargeted attack on federated training, after UA-FedRec
- `forged_reports`: reports to a sum that say more than one reader may
- `poisoning_audits`: the claims that are examined, registered when it is imported
"""
