"""The drawing library as one script: Vega, Vega-Lite and vega-embed out of vl-convert's wheel."""

import altair
import vl_convert

from analysis.errors import InputError

# The Vega-Lite that Altair writes for, e.g. 6.1.
VEGA_LITE = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def script() -> str:
    """JavaScript that defines `vegaEmbed`; made without a network, fit to stand in a page.

    Raises InputError when it would end the script element that it is to stand in.
    """
    text = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    if "</script" in text.lower() or "<!--" in text:
        raise InputError(
            "vl-convert's script cannot stand inside a page; install the version that "
            "requirements.txt pins"
        )
    return text


def credit() -> str:
    """Whose work the script is, with its versions."""
    return (
        f"Vega {vl_convert.get_vega_version()}, Vega-Lite {VEGA_LITE} and vega-embed "
        f"{vl_convert.get_vega_embed_version()} of the University of Washington's Interactive "
        "Data Lab (BSD 3-clause licence)"
    )
