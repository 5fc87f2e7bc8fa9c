# SPDX-License-Identifier: GPL-2.0-only
"""A driver that has storage mode."""
import os
import subprocess

from cases import Settings, Failed, counter
from played import started


def stored(settings, case, *, straight=True, **options):
    """A case with a driver that has storage mode. Its dump says whether contents went straight into the images."""
    def check(run, verb):
        if verb != "dump" or "-t" not in run.last:
            return
        if ("contents go straight from GPUs" in run.log("dump")) != straight:
            raise Failed(f"contents {'did not go' if straight else 'went'} straight into the images")
    changed = Settings(settings.criu, settings.counter, settings.images, None,
                       {**settings.environment, "FAKE_CUDA_DRIVER": "615", **options}, settings.machine)
    changed.crit = settings.crit
    changed.check = check
    return case(changed)


def no_room_for_images(settings):
    """Where images can't take contents, these are held until the driver takes them back: the program goes on."""
    with started(settings, "64") as run:
        small = os.path.join(run.work, "small")
        os.mkdir(small)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", small], check=True)
        try:
            run.images = small
            run.refused("dump", "No space left")
            if "straight" not in run.log("dump"):
                raise Failed("contents didn't go straight into the images")
        finally:
            subprocess.run(["umount", small], check=True)
        run.images = f"{small}-other"
        run.dump()
        run.restore()
        run.end(1)


def on_two_devices(settings):
    """Each GPU's contents go by themselves, and back to where they were."""
    counter(settings, "24", "spread", processes=2, times=2)
