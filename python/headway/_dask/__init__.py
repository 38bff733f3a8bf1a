"""Sweeps on a Dask cluster: `sweep` gives out the runs and stores their rows, `worker` makes runs, `command` is what
`headway lab run --dask` starts.
"""
