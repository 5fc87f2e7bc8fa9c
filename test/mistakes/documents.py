# SPDX-License-Identifier: GPL-2.0-only
"""Cases about --json: one JSON document on standard output, with the fields of Documentation/json.md."""

import json
import os
import resource
import signal
import subprocess
import sys

from case import Skipped, require, says, until
from harness import processes


def document(case, *words, status=0, **more):
    """Runs criu. Returns the document on its standard output."""
    run = subprocess.run([case.binary, words[0], "--no-default-config", *words[1:], "--json"], capture_output=True, text=True,
                         check=False, timeout=60, stdin=subprocess.DEVNULL, **more)
    require(run.returncode == status, f"criu {' '.join(words)}: exit status {run.returncode}: {run.stdout}{run.stderr}")
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError as error:
        require(False, f"{error} in: {run.stdout}")


def basic_status(case, *words):
    """Returns the exit status of criu without --json."""
    return subprocess.run([case.binary, *words], capture_output=True, check=False).returncode


def features_as_json(case):
    """criu check: the same results as in the text, with reason and remedy"""
    plain = subprocess.run([case.binary, "check", "--feature", "list"], capture_output=True, text=True, check=True).stdout
    listed = document(case, "check", "--feature", "list")
    require(set(listed) == {"command", "features", "good"} and listed["command"] == "check" and listed["good"], f"{listed}")
    for feature in listed["features"]:
        lacks = set() if feature["supported"] else {"reason", "remedy"}
        require(set(feature) == {"name", "purpose", "category", "supported"} | lacks, f"{feature}")
        state = "supported" if feature["supported"] else "missing"
        says(plain, rf"(?m)^{feature['name']} +{state} +")
    require({feature["category"] for feature in listed["features"]} >= {"extra", "on-request"}, "categories are missing")
    one = listed["features"][0]
    got = document(case, "check", "--feature", one["name"], status=0 if one["supported"] else 1)
    require(got["features"][0] == one and got["good"] == one["supported"], f"{got}")
    basic = document(case, "check")
    require(basic["good"] and basic["basics"] and all(each["supported"] for each in basic["basics"]), f"{basic}")
    every = document(case, "check", "--all", status=basic_status(case, "check", "--all"))
    plain = case.criu("check", "--all", status=0 if every["good"] else 1)
    for feature in every["features"]:
        require(feature["supported"] == (f"feature {feature['name']} is missing" not in plain), f"{feature} {plain}")
    says(case.criu("check", "--feature", "nothing", "--json", status=1), "unknown feature 'nothing'")


OVERLAY = """
import mmap, os, subprocess
for name in ("lower", "upper", "work", "merged"):
    os.mkdir(name)
subprocess.run(["mount", "-t", "overlay", "none", "merged", "-o", "lowerdir=lower,upperdir=upper,workdir=work"], check=True)
with open("merged/file", "wb+") as file:
    file.truncate(4096)
    memory = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ)
    status = os.fstat(file.fileno())
with open("/proc/self/maps") as maps:
    (line,) = [line.split() for line in maps if line.rstrip().endswith("merged/file")]
print(line[3:5] == [f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}", str(status.st_ino)])
"""


CALL_OF_32_BITS = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("53b814000000cd805bc3"))  # push rbx, mov eax 20 (getpid), int 0x80, pop rbx, ret
ask = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print(ask() == __import__("os").getpid())
"""


def feature_of_32_bits(case):
    """criu check says of 32-bit programs what this kernel does."""
    if os.uname().machine != "x86_64":
        raise Skipped("the processor has no 32-bit mode")
    run = subprocess.run([sys.executable, "-c", CALL_OF_32_BITS], capture_output=True, text=True, check=False)
    case.criu("check", "--feature", "compat_cr", status=0 if run.stdout == "True\n" else 1)


def feature_of_overlays(case):
    """criu check says of mappings on overlayfs what this kernel does."""
    run = subprocess.run(["unshare", "--mount", sys.executable, "-c", "import os\nos.mkdir('over')\n"
                          "os.system('mount -t tmpfs none over')\nos.chdir('over')\n" + OVERLAY], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Skipped(f"no overlayfs here: {run.stderr}")
    case.criu("check", "--feature", "overlayfs_maps", status=0 if run.stdout == "True\n" else 1)


def explanation_as_json(case):
    """criu explain: obstacles with reason and remedy"""
    program = case.python("f = open('file', 'w')\nready()\ntime.sleep(1000)\n", stdin=subprocess.DEVNULL)
    case.dump(program.pid)
    require(document(case, "explain", case.images) == {"command": "explain", "possible": True, "obstacles": [], "remarks": []},
            "an obstacle")
    os.unlink("file")
    got = document(case, "explain", case.images, status=1)
    require(not got["possible"] and [each["remedy"] for each in got["obstacles"]] == ["images don't hold it; put it back"]
            and "/file (fd 3 of" in got["obstacles"][0]["reason"], f"{got}")


def statistics_as_json(case):
    """--display-stats of dump, pre-dump and restore"""
    program = case.python("memory = bytearray(os.urandom(1 << 20))\nready()\ntime.sleep(1000)\n")
    os.mkdir("before")
    before = document(case, "pre-dump", "-t", str(program.pid), "-D", "before", "--display-stats")
    require(before["pages_written"] >= 256, f"{before}")
    dump = document(case, "dump", "-t", str(program.pid), "-D", case.images, "--display-stats")
    require(dump["command"] == "dump" and dump["pages_written"] >= 256 and dump["frozen_time"] > 0, f"{dump}")
    with open(os.path.join(case.images, "stats-dump"), "rb") as file:
        stored = json.loads(subprocess.run([os.path.join(case.scripts, "crit"), "show", file.name], capture_output=True,
                                           check=True).stdout)["entries"][0]["dump"]
    require(all(dump[name] == value for name, value in stored.items()), f"{dump} {stored}")
    os.waitpid(program.pid, 0)
    restore = document(case, "restore", "-D", case.images, "-d", "--display-stats")
    require(restore["command"] == "restore" and restore["pages_restored"] >= 256, f"{restore}")
    says(case.criu("restore", "-D", case.images, "--json", status=1), "--json needs --display-stats")
    says(case.criu("dump", "-t", "1", "--json", status=1), "--json needs --dry-run or --display-stats")
    says(case.criu("check", "--json", "-o", "-", status=1), "--json and --log-file - exclude each other")


def verification_as_json(case):
    """criu verify: damages, and what has no checksums"""
    program = case.python("memory = bytearray(os.urandom(1 << 20))\nready()\ntime.sleep(1000)\n")
    dump = ["dump", "-t", str(program.pid), "--leave-running"]
    os.mkdir("plain")
    case.criu(*dump, "-D", "plain")
    got = document(case, "verify", "-D", "plain", status=1)
    require(set(got) == {"command", "good", "damages", "unverified", "verified"} and got["command"] == "verify", f"{got}")
    require(not got["good"] and not got["damages"] and not got["verified"], f"{got}")
    require(any("has no list of checksums" in each for each in got["unverified"])
            and any("pages have no checksums" in each for each in got["unverified"]), f"{got}")
    case.criu(*dump, "-D", case.images, "--checksum")
    got = document(case, "verify", "-D", case.images)
    require(got["good"] and not got["damages"] and not got["unverified"] and len(got["verified"]) == 2, f"{got}")
    core = os.path.join(case.images, f"core-{program.pid}.img")
    with open(core, "r+b") as file:
        file.seek(20)
        byte = file.read(1)[0]
        file.seek(20)
        file.write(bytes([byte ^ 1]))
    got = document(case, "verify", "-D", case.images, status=1)
    require(not got["good"] and not got["unverified"] and len(got["damages"]) == 1
            and os.path.basename(core) in got["damages"][0], f"{got}")
    says(case.criu("verify", "-D", case.images, status=1), r"(?m)^Damaged: .*core-")


def held_by_zombie(case):
    """A pid of the images is held by a process that ended and that its parent hasn't waited for: criu explain names the
    parent, and doesn't advise to end the ended process.
    """
    case.python("if os.fork() == 0:\n  os.setsid()\n  ready(os.getpid())\ntime.sleep(1000)\n")
    pid = int(case.said())
    case.criu("dump", "-t", str(pid), "-D", case.images)
    until(lambda: (processes.status(pid) or {"State": "Z"})["State"][0] == "Z", "the end of the dumped process")
    parent = int(processes.status(pid)["PPid"])
    said = case.criu("explain", "-D", case.images, status=1)
    says(said, rf"In the way: pid {pid} is taken by python3, which has ended, but process {parent} hasn't waited for it "
               rf"\(make process {parent} wait for it, .*--new-pidns\)")
    shown = subprocess.run([os.path.join(case.scripts, "crit"), "explain", case.images], capture_output=True, text=True, check=False)
    says(shown.stdout, rf"number {pid} is that of python3, which has ended, but process {parent} hasn't waited for it\n"
                       rf" +Make process {parent} wait for it, .*--new-pidns")
    os.kill(parent, signal.SIGKILL)


def comparison(case):
    """criu compare: status 0 for an equal tree, 1 for differences and 2 if it couldn't compare"""
    program = case.python("ready()\ntime.sleep(1000)\n")
    tree = ("-t", str(program.pid), "-D", case.images)
    case.criu("dump", *tree, "--leave-running")
    files = {name: os.stat(os.path.join(case.images, name)).st_mtime_ns for name in os.listdir(case.images)}
    says(case.criu("compare", *tree), r"^The tree equals the images\.\n$")
    require(document(case, "compare", *tree) == {"command": "compare", "equal": True, "differences": [], "uncompared": []},
            "a difference")
    resource.prlimit(program.pid, resource.RLIMIT_CORE, (5, resource.prlimit(program.pid, resource.RLIMIT_CORE)[1]))
    got = document(case, "compare", *tree, status=1)
    require(not got["equal"] and [(each["field"], each["tree"]) for each in got["differences"]] == [("tc.rlimits.rlimits[4].cur", "5")]
            and got["differences"][0]["process"].startswith(f"{program.pid} (python3"), f"{got}")
    says(case.criu("compare", *tree, status=1), r"^Differs: process .*: tc\.rlimits\.rlimits\[4\]\.cur: .* in the image, 5 in the tree\n$")
    require(files == {name: os.stat(os.path.join(case.images, name)).st_mtime_ns for name in os.listdir(case.images)},
            "the images directory was changed")
    says(case.criu("compare", "-D", case.images, status=2), "compare needs the root of the process tree: -t PID")
    says(case.criu("compare", *tree, "--leave-running", status=2), "--leave-running is for dump, not for compare")
    says(case.criu("compare", *tree, "--nonsense", status=2), "unknown option --nonsense")
    says(case.criu("compare", "-t", str(program.pid), "-D", "/no/such", status=2), "open the images directory /no/such")
    os.unlink(os.path.join(case.images, "inventory.img"))
    says(case.criu("compare", *tree, status=2), "no complete checkpoint")
    require((processes.status(program.pid) or {"State": "Z"})["State"].startswith("S"), "the program doesn't sleep any more")


def background_comparison(case):
    """criu compare: images of a dump in the background equal the tree, also the memory below the stack"""
    program = case.python("ready()\ntime.sleep(1000)\n")
    tree = ("-t", str(program.pid), "-D", case.images)
    case.criu("dump", *tree, "--leave-running", "--background")
    says(case.criu("compare", *tree), r"^The tree equals the images\.\n$")


CASES = [comparison, background_comparison, features_as_json, feature_of_32_bits, feature_of_overlays, explanation_as_json, statistics_as_json,
         verification_as_json, held_by_zombie]
