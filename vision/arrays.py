"""The array types that pictures and their evaluation share."""

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""Pixels [H, W, 3], channels R G B."""

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
