# SPDX-License-Identifier: GPL-2.0-only
"""Core files for debuggers, made from images of criu."""
