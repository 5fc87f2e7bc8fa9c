# SPDX-License-Identifier: GPL-2.0-only
"""Core files, as debuggers read them, of processes that criu has dumped."""
