# SPDX-License-Identifier: GPL-2.0-only
"""Tool that shows, converts and changes criu's images."""

from pycriu import __version__

__all__ = ["__version__"]
