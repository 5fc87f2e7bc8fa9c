# SPDX-License-Identifier: GPL-2.0-only
"""Common parts of the whole-program tests and the benchmark: namespaces, processes, criu runs, reports."""
