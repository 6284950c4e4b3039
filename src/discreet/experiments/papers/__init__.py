"""The tables and figures of FedNewsRec and PrivateRec, run again.

- `printed`: the values that the papers print
- `cells`: what one figure of a table is, how cells are measured, which statements of a paper come out
- `scale`: the settings, small or as the papers have them
- `fednewsrec_paper`, `privaterec_paper`: one function for each table and figure
"""
