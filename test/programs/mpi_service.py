# SPDX-License-Identifier: GPL-2.0-only
"""A job of Open MPI: three ranks that sum up and pass a mebibyte around, over memory that they share, and what started
them."""

import os
import sys

import service
from service import require

PYTHON = "/usr/bin/python3"  # whose packages are the distribution's
SIZE = 1 << 20

RANKS = f"""
import os
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
into = bytearray({SIZE})
step = 0
while not world.bcast(os.path.exists("stop"), 0):
    step += 1
    if world.allreduce(step * size + rank) != sum(step * size + i for i in range(size)):
        raise SystemExit(f"rank {{rank}} has another sum in step {{step}}")
    left, right = (rank - 1) % size, (rank + 1) % size
    world.Sendrecv(bytes([(step + rank) % 256]) * {SIZE}, right, 1, into, left, 1)
    if into != bytes([(step + left) % 256]) * {SIZE}:
        raise SystemExit(f"rank {{rank}} got other bytes in step {{step}}")
    if rank == 0:
        with open("step.new", "w", encoding="ascii") as file:
            file.write(str(step))
        os.rename("step.new", "step")
"""


def step():
    """How far the job is."""
    try:
        with open("step", encoding="ascii") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def main():
    """The tree's root."""
    with open("ranks.py", "w", encoding="ascii") as file:
        file.write(RANKS)
    # Runs as root, in containers, on fewer cores than ranks.
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR=os.getcwd(),
                      OMPI_MCA_btl_vader_single_copy_mechanism="none")
    job = service.start([service.path_of("mpirun"), "--oversubscribe", "-n", "3", PYTHON, "ranks.py"], "mpi.log")
    service.until(lambda: step() > 3 or job.poll() is not None, 60, "step of the job")

    def turn():
        before = step()
        service.until(lambda: step() > before or job.poll() is not None, 60, "further step of the job")
        require(job.poll() is None, f"the job ended with {job.returncode}")

    def finish():
        with open("stop", "w", encoding="ascii"):
            pass
        require(job.wait(60) == 0, f"the job ended with {job.returncode}")

    service.work(turn, finish)


sys.exit(main())
