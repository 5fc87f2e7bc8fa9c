# SPDX-License-Identifier: GPL-2.0-only
"""criu for trees that share a pid namespace with others. It restores them in a new one, where all pids are free."""
