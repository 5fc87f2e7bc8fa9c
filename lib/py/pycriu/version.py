# SPDX-License-Identifier: LGPL-2.1-only
"""The version of criu whose images and requests these are."""

__version__ = "4.2"
