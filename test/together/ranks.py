# SPDX-License-Identifier: GPL-2.0-only
"""Ranks of an MPI job that add numbers until FOLDER/finish exists. Rank 0 writes the number of steps to FOLDER/steps.

usage: ranks.py FOLDER
"""

import os
import sys
import time

from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def main():
    """Checks the result of each step."""
    folder = sys.argv[1]
    step = 0
    while True:
        step += 1
        total = WORLD.allreduce(step * (WORLD.rank + 1))
        if total != step * sum(range(1, WORLD.size + 1)):
            sys.exit(f"rank {WORLD.rank}, step {step}: the sum is {total}")
        finish = WORLD.bcast(os.path.exists(os.path.join(folder, "finish")) if WORLD.rank == 0 else None)
        if WORLD.rank == 0:
            with open(os.path.join(folder, "steps"), "w", encoding="ascii") as file:
                file.write(f"{step} end" if finish else f"{step}")
        if finish:
            break
        time.sleep(0.01)


if __name__ == "__main__":
    main()
