"""The workloads in CNTK 2.7, in Python 3.6. Run on CPUs only so far."""

import warnings

# It warns of a missing GPU and of the Python that it is for.
warnings.filterwarnings("ignore", module="cntk")
