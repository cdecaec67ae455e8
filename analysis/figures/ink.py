"""The colour of letters on a colour: black or white, whichever is the easier to read."""

from matplotlib.colors import to_rgb
from matplotlib.typing import ColorType


def ink(ground: ColorType) -> str:
    """The one with the higher contrast; on any colour that is at least 4.5, which WCAG asks for."""
    return max("black", "white", key=lambda letters: contrast(letters, ground))


def contrast(one: ColorType, other: ColorType) -> float:
    """WCAG's contrast ratio of two colours, 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: ColorType) -> float:
    """Relative luminance, 0 to 1 (https://www.w3.org/TR/WCAG21/#dfn-relative-luminance)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
