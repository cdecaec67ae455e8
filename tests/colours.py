"""Colours as someone sees them who lacks a kind of cone."""

import numpy as np
from matplotlib.colors import to_rgb

# Matrices that show linear RGB without red cones, and without green ones (Machado, Oliveira and
# Fernandes, IEEE TVCG 15, 2009).
SIGHTS = {
    "protanopia": np.array(
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    ),
    "deuteranopia": np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    ),
}
TO_XYZ = np.array([[0.4339, 0.3762, 0.1899], [0.2127, 0.7152, 0.0722], [0.0178, 0.1095, 0.8730]])


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a colour as someone sees it; 100 is from black to white."""
    encoded = np.array(to_rgb(colour))
    linear = np.where(encoded > 0.04045, ((encoded + 0.055) / 1.055) ** 2.4, encoded / 12.92)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(sight @ linear, 0, 1) + 1e-6)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
