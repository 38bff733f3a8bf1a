"""TCP over links that damage packets, simulated.

>>> import headway
>>> link = headway.Scenario(rate="10mbit", delay="300ms", damage="burst:5%:5")
>>> runs = headway.race(link, variants=["sack", "headway"], runs=10, seed=1)

Tables are `pyarrow.Table`. A run depends on its scenario, its sender and its seed alone: it is the same, packet by packet, in
this package, in the command `headway`, and on every machine.
"""

from headway._native import fingerprint, version
from headway.captures import Trace, trace
from headway.controllers import Ack, Controller, Loss, LostSegment
from headway.errors import Error, InputError
from headway.experiments import Experiment, Results, papers
from headway.network import Arrival, Connection, Host, Link, Listener, Notification, nanoseconds
from headway.scenario import Scenario
from headway.simulation import VARIANTS, Run, columns, race, run

__version__ = version()

__all__ = [
    "VARIANTS",
    "Ack",
    "Arrival",
    "Connection",
    "Controller",
    "Error",
    "Experiment",
    "Host",
    "InputError",
    "Link",
    "Listener",
    "Loss",
    "LostSegment",
    "Notification",
    "Results",
    "Run",
    "Scenario",
    "Trace",
    "__version__",
    "columns",
    "fingerprint",
    "nanoseconds",
    "papers",
    "race",
    "run",
    "trace",
]
