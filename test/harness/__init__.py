# SPDX-License-Identifier: GPL-2.0-only
"""What the whole-program tests and the benchmark share: namespaces, processes, criu runs, reports."""
