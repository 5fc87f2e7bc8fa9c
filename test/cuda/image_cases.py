# SPDX-License-Identifier: GPL-2.0-only
"""Cases about where images go, and about other processes in the tree."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import time

from cases import Failed
from harness import rpc
from played import LOCKED, RUNNING, Driver, children, running, started


def switched_off(settings):
    """Requires --no-device cuda to make no call to the driver and to leave nothing of it in the images."""
    with started(settings) as run:
        run.dump("--no-device", "cuda", "--leave-running")
        if os.path.exists(os.path.join(run.images, "cuda.img")):
            raise Failed("there is a cuda.img")
        run.end(1)


def pre_dumped(settings, *options):
    """Dumps host memory by two pre-dumps in a chain, which the log must say. Contents of GPUs come with the dump."""
    with started(settings, "32", "pinned") as run:
        whole = run.images
        for number in range(2):
            run.images = f"{whole}{number}"
            parent = ["--prev-images-dir", f"../{os.path.basename(whole)}{number - 1}"] if number else []
            run.must("pre-dump", "-t", str(run.pid), "--track-mem", *parent)
            if not re.search(r"of process \d+ only what is in host memory is pre-dumped", run.log("pre-dump")):
                raise Failed("the log doesn't say what a pre-dump leaves out")
        run.images = whole
        run.dump("--track-mem", "--prev-images-dir", f"../{os.path.basename(whole)}1", *options)
        run.restore()
        run.end(1)


def page_server(settings):
    """Sends contents of GPUs to a page server like other memory."""
    with started(settings, "32") as run:
        os.makedirs(run.images)
        pid_file = os.path.join(run.images, "server.pid")
        subprocess.run([settings.criu, "page-server", "-D", run.images, "-o", "page-server.log", "-v4", "--address",
                        "127.0.0.1", "--daemon", "--pidfile", pid_file], check=True)
        port = re.search(r"listens at port (\d+)", run.log("page-server")).group(1)
        run.dump("--page-server", "--address", "127.0.0.1", "--port", port)
        run.restore()
        run.end(1)


def together(settings):
    """Dumps a tree with a CUDA process, ordinary processes, and one with a socket that an external plugin saves."""
    server = os.path.join(settings.images, "server")
    with subprocess.Popen([settings.socket_user, "serve", server], stdout=subprocess.DEVNULL) as serving:
        try:
            while not os.path.exists(server):
                time.sleep(0.01)
            script = f"{settings.socket_user} use {server} & sleep 1000 & exec {settings.counter} 16"
            plugins = ["--libdir", settings.plugins]
            settings.environment["EXAMPLE_SERVER"] = server
            with running(settings, ["sh", "-c", script], "READY", 2) as run:
                settings.environment["EXAMPLE_LOG"] = os.path.join(run.work, "calls")
                for _ in range(2):
                    run.dump(*plugins)
                    run.restore(*plugins)
                with open(settings.environment["EXAMPLE_LOG"], encoding="utf-8") as calls:
                    if "UNIX_SK" not in calls.read():
                        raise Failed("the plugin wasn't asked")
                others = children(run.pid)
                if len(others) != 2:
                    raise Failed(f"the children are {others}")
                for child in others:
                    os.kill(child, signal.SIGTERM)
                run.until(lambda: run.lines("PASS"), 60, "the check of the plugin's socket")
                run.end(2)
        finally:
            serving.kill()


def streamed(settings):
    """Sends all images through one stream."""
    with started(settings, "32") as run:
        stream = os.path.join(run.work, "stream")
        run.dump("--leave-running", "--stream-to", stream)
        for _ in range(2):
            run.dump("--stream-to", stream)
            if os.path.exists(os.path.join(run.images, "inventory.img")):
                raise Failed("a dump into a stream has left images")
            run.restore("--stream-from", stream)
        run.end(1)


def of_criu_42(settings):
    """Restores images of CRIU 4.2 and its plugin, which have no cuda.img. A restore must find the CUDA processes
    itself."""
    with started(settings, "16", "threads", "2") as run:
        run.dump()
        os.unlink(os.path.join(run.images, "cuda.img"))
        storage = os.path.join(run.images, f"gpu-cs-{run.pid}.img")  # made by the plugin of CRIU 4.3
        with open(storage, "wb") as file:
            file.write(b"CUCS")
        run.refused("restore", "gpu-cs-.*in the form of CRIU 4.3", "-d")
        os.unlink(storage)
        run.refused("restore", "the images have no GPU '0', or several", "-d", "--gpu-map", "0=0")
        run.restore()
        run.end(1)


def requested(settings):
    """Sends requests of a client: a dump that the driver refuses, a dump that succeeds, and a restore."""
    with started(settings) as run:
        os.makedirs(run.images)
        configuration = os.path.join(run.work, "configuration")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write("cuda-timeout 30\n")
        reply = request(run, "DUMP", {"pid": run.pid}, FAKE_CUDA_FAULT="checkpoint=801")
        if reply["success"] or "managed memory" not in reply.get("cr_errmsg", "") + run.log("DUMP"):
            raise Failed(f"the reply to a request that can't be granted is {reply}")
        for kind, options in (("DUMP", {"pid": run.pid, "config_file": configuration}), ("RESTORE", {})):
            reply = request(run, kind, options)
            if not reply["success"]:
                raise Failed(f"{kind}: {reply}")
            if kind == "DUMP":
                run.process.wait(60)
                run.process = None
        run.end(1)


def request(run, kind, options, **environment):
    """Returns the reply of a new `criu swrk`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folder = os.open(run.images, os.O_DIRECTORY)
    try:
        with subprocess.Popen([run.settings.criu, "swrk", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                              env={**os.environ, **run.settings.environment, **environment},
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as swrk:
            theirs.close()
            client = rpc.Connection(ours)
            # The peer opens descriptors of this process by number.
            client.send(kind, {"images_dir_fd": folder, "log_file": f"{kind}.log", "log_level": 4, **options})
            reply = client.receive()
            ours.close()
            swrk.wait(60)
            return reply
    finally:
        os.close(folder)


def in_background(settings, staged=True):
    """Requires dump --background to write the contents that the driver had copied, whatever changes later. `staged`:
    contents are in memory of the process, not in the images, when the tree resumes."""
    driver = Driver(settings)
    with started(settings, "96") as run:
        for attempt in range(10):
            if seen_late(run, driver, f"images{attempt}") or not staged:
                break
        else:
            raise Failed("memory was always written before the program had done anything")
        seen = driver.ticks(run.pid)
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait()
        run.process = None
        run.restore("--leave-stopped")
        if not 0 <= driver.ticks(run.pid) < seen:
            raise Failed(f"the kernel had counted to {seen}, and is at {driver.ticks(run.pid)} after the restore")
        os.kill(run.pid, signal.SIGCONT)
        driver.until(run, LOCKED)
        driver.call("Unlock", run.pid)
        run.end(1)


def seen_late(run, driver, images):
    """Dumps with --background. Returns true if the program changed device memory before criu had written all of it."""
    run.images = os.path.join(run.work, images)
    os.makedirs(run.images)
    log = os.path.join(run.images, "dump.log")
    with subprocess.Popen(run.command("dump", "-t", str(run.pid), "--leave-running", "--background"),
                          env={**os.environ, **run.settings.environment}, stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as dump:
        late = False
        while dump.poll() is None and not late:
            if not os.path.exists(log) or "The tree runs again" not in run.log("dump"):
                continue
            for worker in children(dump.pid)[:1]:
                try:
                    os.kill(worker, signal.SIGSTOP)
                except ProcessLookupError:
                    break  # criu has written all memory already
                late = run.size() < 64 << 20
                driver.until(run, RUNNING)
                before = driver.ticks(run.pid)
                run.until(lambda: driver.ticks(run.pid) > before + 10, 60, "the program to go on")
                with contextlib.suppress(ProcessLookupError):  # the worker was a zombie already at its SIGSTOP
                    os.kill(worker, signal.SIGCONT)
            break
        if dump.wait(60) != 0:
            raise Failed(f"the dump ended with {dump.returncode}: {run.why('dump')}")
        return late
