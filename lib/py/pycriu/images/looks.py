# SPDX-License-Identifier: LGPL-2.1-only
"""Readable form of numbers in images (`crit decode --pretty`), and its reverse.

opts.proto says which form a field has. Names are those of the kernel's headers. Values that only criu defines have
the names that crit has always shown.
"""

from __future__ import annotations

import os

_FLAGS = {
    "mmap.prot": {"PROT_READ": 0x1, "PROT_WRITE": 0x2, "PROT_EXEC": 0x4},
    "mmap.flags": {"MAP_SHARED": 0x1, "MAP_PRIVATE": 0x2, "MAP_DROPPABLE": 0x8, "MAP_ANON": 0x20, "MAP_GROWSDOWN": 0x100},
    "mmap.status": {
        "VMA_AREA_NONE": 0, "VMA_AREA_REGULAR": 1 << 0, "VMA_AREA_STACK": 1 << 1, "VMA_AREA_VSYSCALL": 1 << 2,
        "VMA_AREA_VDSO": 1 << 3, "VMA_AREA_HEAP": 1 << 5, "VMA_FILE_PRIVATE": 1 << 6, "VMA_FILE_SHARED": 1 << 7,
        "VMA_ANON_SHARED": 1 << 8, "VMA_ANON_PRIVATE": 1 << 9, "VMA_AREA_SYSVIPC": 1 << 10, "VMA_AREA_SOCKET": 1 << 11,
        "VMA_AREA_VVAR": 1 << 12, "VMA_AREA_AIORING": 1 << 13, "VMA_AREA_MEMFD": 1 << 14, "VMA_AREA_SHSTK": 1 << 15,
        "VMA_AREA_UPROBES": 1 << 17, "VMA_UNSUPP": 1 << 31,
    },
    "rfile.flags": {
        "O_WRONLY": 0o1, "O_RDWR": 0o2, "O_CREAT": 0o100, "O_EXCL": 0o200, "O_NOCTTY": 0o400, "O_TRUNC": 0o1000,
        "O_APPEND": 0o2000, "O_NONBLOCK": 0o4000, "O_DSYNC": 0o10000, "FASYNC": 0o20000, "O_DIRECT": 0o40000,
        "O_LARGEFILE": 0o100000, "O_DIRECTORY": 0o200000, "O_NOFOLLOW": 0o400000, "O_NOATIME": 0o1000000,
        "O_CLOEXEC": 0o2000000,
    },
    "seals.flags": {"F_SEAL_SEAL": 0x1, "F_SEAL_SHRINK": 0x2, "F_SEAL_GROW": 0x4, "F_SEAL_WRITE": 0x8,
                    "F_SEAL_FUTURE_WRITE": 0x10},
    "pmap.flags": {"PE_PARENT": 1 << 0, "PE_LAZY": 1 << 1, "PE_PRESENT": 1 << 2, "PE_PAYLOAD_ALIGNED": 1 << 3},
}

# (criu).dict and the field's name → names of values. The names of task_state are wrong (for criu 2 is a zombie, 3 a
# stopped task), but other tools exchange JSON with these names.
_NAMES = {
    ("gen", "task_state"): {1: "Alive", 3: "Zombie", 6: "Stopped"},
    ("sk", "family"): {1: "UNIX", 2: "INET", 10: "INET6", 16: "NETLINK", 17: "PACKET"},
    ("sk", "type"): {1: "STREAM", 2: "DGRAM", 3: "RAW", 5: "SEQPACKET", 10: "PACKET"},
    ("sk", "state"): {1: "ESTABLISHED", 2: "SYN_SENT", 3: "SYN_RECV", 4: "FIN_WAIT1", 5: "FIN_WAIT2", 6: "TIME_WAIT",
                      7: "CLOSE", 8: "CLOSE_WAIT", 9: "LAST_ACK", 10: "LISTEN"},
    ("sk", "proto"): {0: "IP", 6: "TCP", 17: "UDP", 136: "UDPLITE"},
}
_NUMBERS = {key: {name: number for number, name in names.items()} for key, names in _NAMES.items()}

_MINOR_BITS = 20  # minor bits of a device number in the kernel's format


def show_flags(kind: str, value: int) -> str:
    """Returns the names of the set bits, joined by " | ". Bits without a name follow as one hexadecimal number."""
    known = _FLAGS.get(kind)
    if known is None:
        return hex(value)
    words = []
    for name, bit in known.items():
        if value & bit:
            words.append(name)
            value &= ~bit
    if value:
        words.append(hex(value))
    return " | ".join(words)


def read_flags(kind: str, text: str) -> int:
    """Reverses show_flags(); ValueError for an unknown name."""
    value = 0
    known = _FLAGS.get(kind, {})
    for word in filter(None, map(str.strip, text.split("|"))):
        value |= known[word] if word in known else int(word, 0)
    return value


def show_name(table: str, field: str, value: int) -> str | int:
    """Returns the name of a value, or the value if it has none."""
    return _NAMES.get((table, field), {}).get(value, value)


def read_name(table: str, field: str, text: str) -> int:
    """Reverses show_name(); ValueError for an unknown name."""
    known = _NUMBERS.get((table, field), {})
    return known[text] if text in known else int(text, 0)


def show_device(value: int, old: bool) -> str:
    """Returns a device as MAJOR:MINOR. `old`: the number has the format of user space instead of the kernel's."""
    if old:
        return f"{os.major(value)}:{os.minor(value)}"
    return f"{value >> _MINOR_BITS}:{value & ((1 << _MINOR_BITS) - 1)}"


def read_device(text: str, old: bool) -> int:
    """Reverses show_device(). Plain numbers are accepted, too."""
    major, colon, minor = text.partition(":")
    if not colon:
        return int(text, 0)
    return os.makedev(int(major), int(minor)) if old else int(major) << _MINOR_BITS | int(minor)
