# SPDX-License-Identifier: GPL-2.0-only
"""criu for trees that share a pid namespace with others: restores them in one of their own, where all numbers are free."""
