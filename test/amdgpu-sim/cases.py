# SPDX-License-Identifier: GPL-2.0-only
"""The table of programs and modes. guest/modes.sh has the modes, programs/ the programs."""

import os

# All programs. Each runs in mode `alone` and in those of CRIU_MODES.
PROGRAMS = ["kfd_memory", "kfd_queues", "kfd_events", "kfd_svm", "kfd_processes", "kfd_threads", "kfd_other_files",
            "render_buffers", "mesa_buffers", "dmabuf_passing", "dmabuf_in_flight", "split_mappings"]

# Programs without buffers of render nodes, which the kernel lists since Linux 6.18.
COMPUTE = [program for program in PROGRAMS if program.startswith("kfd_") and program != "kfd_other_files"]

# Modes in which criu dumps and restores, and their programs. Modes that fail each ioctl take long, so they run with
# programs that use many kinds of ioctls.
CRIU_MODES = {
    "once": PROGRAMS,
    "leave_running": ["kfd_queues", "render_buffers"],
    "twice": ["kfd_queues", "dmabuf_passing"],
    "again": ["kfd_queues", "render_buffers", "kfd_other_files", "split_mappings"],
    "swapped": ["kfd_memory", "kfd_queues", "kfd_svm", "render_buffers"],
    "no_parallel": ["kfd_memory", "kfd_processes"],
    "contained": ["kfd_memory", "kfd_processes", "kfd_queues", "render_buffers", "dmabuf_passing", "plain"],
    "small_buffer": ["kfd_memory", "render_buffers"],
    "stored": ["kfd_memory", "mesa_buffers"],
    "compat": ["kfd_memory", "render_buffers"],
    "encrypted": ["kfd_memory", "render_buffers"],
    "signed": ["kfd_processes", "mesa_buffers"],
    "streamed": ["kfd_memory", "render_buffers"],
    "pre_dumped": ["kfd_processes"],
    "runtime_files": ["kfd_events"],
    "no_engine": ["kfd_memory", "kfd_processes", "render_buffers"],
    "resumed_late": ["kfd_queues"],
    "resumed_oddly": ["kfd_queues"],
    "reset": ["kfd_memory"],
    "drivers": ["kfd_memory"],
    "no_rings": ["kfd_processes", "kfd_memory"],
    "old_family": ["kfd_memory", "render_buffers"],
    "mapped": ["kfd_memory"],
    "linked": ["kfd_memory"],
    "grouped": ["kfd_queues"],
    "grouped_apart": ["kfd_groups"],
    "linux_6_1": COMPUTE,
    "linux_6_8": COMPUTE,
    "linux_6_17": ["kfd_queues", "kfd_memory"],
    "linux_6_19": ["kfd_context", "kfd_processes"],
    "linux_7_3": ["kfd_memory", "kfd_queues"],
    "dies": ["kfd_queues"],
    "busy_queue": ["kfd_queues"],
    "context_search": ["kfd_memory"],
    "evicted": ["kfd_queues", "kfd_processes", "kfd_memory", "render_buffers"],
    "notified": ["kfd_memory"],
    "small_window": ["render_buffers"],
    "change_handle": ["render_buffers", "far_handles"],
    "changing": ["kfd_svm"],
    "pinned": ["kfd_processes"],
    "refused_users": ["kfd_queues"],
    "unchecked": ["kfd_events"],
    "unfit": ["kfd_events"],
    "interrupted": ["kfd_queues"],
    "stuck_queues": ["kfd_queues"],
    "ended_copy": ["kfd_memory"],
    "background": ["kfd_queues", "kfd_memory", "both_vendors"],
    "vendors": ["both_vendors"],
    "vendors_mapped": ["both_vendors"],
    "vendor_faults": ["both_vendors"],
    "check": ["plain"],
    "dump_faults": ["kfd_queues"],
    "restore_faults": ["render_buffers"],
}

# Programs whose images can be exchanged with CRIU 4.2 and its plugin. Documentation/amdgpu.md lists the defects that
# exclude the others: CRIU 4.2 mixes up buffers of several render nodes (12) and restores several GPUs wrongly in
# parallel (2). It can't dump a render node in a socket (dmabuf_in_flight).
FROM_OTHER = [program for program in PROGRAMS if program not in ("render_buffers", "dmabuf_passing", "kfd_other_files", "mesa_buffers",
                                                                   "split_mappings", "dmabuf_in_flight")]
TO_OTHER = ["kfd_events", "kfd_svm", "kfd_processes"]
OTHER_REFUSES = ["kfd_memory", "render_buffers"]

# Contents larger than all of CRIU 4.2's buffers, which its parallel restore reads (one GPU only, see defect 2), and
# several GPUs, whose contents each have a file.
EXCHANGED_BULK = [("to_other", "kfd_bulk", "1 1 300 1"), ("from_other", "kfd_bulk", "1 1 300 1"), ("from_other", "kfd_bulk", "2 2 40 4")]

# The arguments are processes, GPUs of each, MiB on each GPU, MiB of other memory.
BULK = [("resumed_oddly", "kfd_bulk", "1 1 4 1"), ("no_room", "kfd_bulk", "1 1 40 1"), ("watched", "kfd_bulk", "1 1 100 1"), ("stored", "kfd_bulk", "2 2 20 4"), ("once", "kfd_bulk", "1 1 100 1"), ("unlimited_buffer", "kfd_bulk", "1 1 64 1"), ("engines", "kfd_bulk", "4 2 4 8"),
        ("no_engine", "kfd_bulk", "1 1 5 1"), ("no_engine", "kfd_bulk", "1 1 65 1"), ("once", "kfd_bulk", "4 2 4 8"), ("no_parallel", "kfd_bulk", "4 1 40 8"),
        ("contained", "kfd_bulk", "4 2 4 8"), ("contained_one", "kfd_bulk", "2 1 4 8")]

# Memory that processes share. "render" uses a render node.
SHARED = [(mode, "kfd_shared", arguments) for mode, arguments in
          [("alone", ""), ("once", ""), ("once", "render"), ("again", ""), ("twice", ""), ("swapped", ""), ("mapped", ""),
           ("contained", ""), ("linux_6_8", ""), ("dkms_shared", "ipc"), ("no_parallel", ""), ("shared_contents", ""), ("leave_running", "")]]

# Memory of a render node that another process maps than the one that made or imported it, and several descriptors of
# /dev/kfd.
PASSED = [("alone", "render_passed", ""), ("once", "render_passed", ""), ("once", "render_passed", "closed"), ("again", "render_passed", ""),
          ("contained", "render_passed", "closed"), ("attended", "render_passed", ""), ("attended", "kfd_shared", ""), ("once", "kfd_context", ""),
          ("once", "kfd_context", "empty"), ("linux_6_17", "kfd_context", "empty")]

# Images that don't name the render file of the driver.
UNNOTED = [("other_driver", "kfd_svm", "xnack"), ("unnoted", "kfd_other_files", "any"), ("unnoted", "kfd_other_files", "any bare")]

# Cases that need a machine with much memory (--large).
LARGE = [("large", "kfd_large", "5120")]
LARGE_MEMORY = 9216  # MiB

REFUSED = [("refused", "closed_files", "kfd"), ("refused", "closed_files", "render"),
           ("refused", "closed_files", "inherited"), ("refused", "closed_files", "doorbells"), ("refused", "closed_files", "twice"),
           ("refused_handles", "far_handles", ""), ("refused_context", "kfd_context", "context"), ("refused_sharing", "kfd_shared", "604"),
           ("refused_sharing", "kfd_shared", "604 render"), ("refused_sharing", "kfd_shared", "compat"),
           ("refused_kind", "mesa_buffers", "userptr"), ("refused_kind", "mesa_buffers", "context"),
           ("refused_kind", "mesa_buffers", "late_context"), ("listed_contexts", "mesa_buffers", "late_context"),
           ("listed_contexts", "mesa_client", ""), ("listed_contexts", "mesa_client", "running"),
           ("listed_contexts", "mesa_client", "files"), ("listed_contexts", "mesa_client", "lost"),
           ("no_loss", "kfd_memory", ""), ("listed_running", "mesa_client", ""), ("listed_faults", "mesa_client", ""),
           ("refused_kind", "mesa_buffers", "sync_object"), ("refused_kind", "mesa_buffers", "late_sync_object"),
           ("listed_contexts", "mesa_buffers", "late_sync_object"),
           ("listed_contexts", "mesa_buffers", "userptr"), ("listed_contexts", "kfd_memory", ""),
           ("refused_kind", "mesa_buffers", "always_hidden")]

# Cases without GPU support in criu.
PLAIN = [
    ("interface", "interface_check", ""),
    ("interface_versions", "interface_rules", ""),
    ("interface_groups", "interface_groups", ""),
    ("once", "plain", ""),
    ("hardware_check", "plain", ""),
    ("no_driver", "plain", ""),
    ("real_driver", "plain", ""),  # the last case: the distribution's driver stays loaded
]


# Approximate duration of cases that differ from the usual one.
SECONDS = {"interrupted": 34, "dump_faults": 28, "grouped": 11, "stuck_queues": 9, "restore_faults": 9, "ended_copy": 9, "encrypted": 6,
           "hardware_check": 28, "large": 60, "watched": 12, "background": 5, "reset": 3, "resumed_oddly": 10, "resumed_late": 7, "other_driver": 2, "again": 4, "stored": 5, "vendors": 6, "vendor_faults": 6, "unfit": 5,
           "refused": 1, "refused_kind": 1, "alone": 1}
USUAL_SECONDS = 2


def seconds_of(case):
    """Returns an estimate, which distributes cases over machines."""
    return SECONDS.get(case[0], USUAL_SECONDS)


def all_cases(with_criu, with_other):
    """Returns (mode, program, arguments) of every case, in the order of execution."""
    cases = [("alone", program, "") for program in PROGRAMS]
    if with_criu:
        cases += [(mode, program, "") for mode, programs in CRIU_MODES.items() for program in programs]
        cases += BULK + SHARED + PASSED + UNNOTED + REFUSED
    if with_other:
        cases += [("to_other", program, "") for program in TO_OTHER]
        cases += [("other_refuses", program, "") for program in OTHER_REFUSES]
        cases += [("from_other", program, "") for program in FROM_OTHER]
        cases += EXCHANGED_BULK
    return cases + PLAIN


def supported(root):
    """Returns true if the tree's criu has GPU support. The modes with criu need it."""
    return os.path.exists(os.path.join(root, "plugins", "amdgpu", "CMakeLists.txt"))
