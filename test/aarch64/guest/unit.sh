#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs a Catch2 program in the emulated machine. The last lines of its output count its tests. usage: unit.sh PROGRAM [TESTS]
set -u
# Temporary files need a file system that has all that the root file system has.
export TMPDIR=/var/tmp
export CRIU_TEST_TOPOLOGIES=/tests/added/topologies
exec "$@" --warn NoTests --durations yes --use-colour no
