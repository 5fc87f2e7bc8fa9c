# SPDX-License-Identifier: LGPL-2.1-only
"""Version of criu to which these images and requests belong."""

__version__ = "4.2"
