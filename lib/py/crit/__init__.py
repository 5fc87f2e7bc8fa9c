# SPDX-License-Identifier: GPL-2.0-only
"""The tool for looking into, converting and changing criu's images."""

from pycriu import __version__

__all__ = ["__version__"]
