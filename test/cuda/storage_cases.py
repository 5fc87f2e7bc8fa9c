# SPDX-License-Identifier: GPL-2.0-only
"""Cases with a driver that has storage mode."""
import os

from cases import Settings, Failed, counter
from played import started


def stored(settings, case, *, straight=True, **options):
    """Runs a case with a driver that has storage mode. `straight`: contents go straight into the images, according to
    the log."""
    def check(run, verb):
        if verb != "dump" or "-t" not in run.last:
            return
        if ("contents go straight from GPUs" in run.log("dump")) != straight:
            raise Failed(f"contents {'did not go' if straight else 'went'} straight into the images")
    changed = Settings(settings.criu, settings.counter, settings.images, None,
                       {**settings.environment, "FAKE_CUDA_DRIVER": "615", **options}, settings.machine)
    changed.crit = settings.crit
    changed.small = settings.small
    changed.check = check
    return case(changed)


def no_room_for_images(settings):
    """Requires criu to hold contents until the driver takes them back, if images have no room for them. The program
    continues."""
    with started(settings, "64") as run:
        run.images = os.path.join(settings.small, "storage")
        run.refused("dump", "No space left")
        if "straight" not in run.log("dump"):
            raise Failed("contents didn't go straight into the images")
        run.images = os.path.join(run.work, "other")
        run.dump()
        run.restore()
        run.end(1)


def on_two_devices(settings):
    """Requires the contents of each GPU to be copied separately, and back to the same GPU."""
    counter(settings, "24", "spread", processes=2, times=2)
