"""The workloads in MXNet 1.9.1 (Gluon). Run on CPUs only so far."""

import numpy as np

# MXNet 1.9.1 uses names that NumPy 1.24 took away.
for _name, _type in (
    ("bool", bool),
    ("object", object),
    ("int", int),
    ("float", float),
    ("complex", complex),
    ("str", str),
):
    if _name not in np.__dict__:
        setattr(np, _name, _type)
