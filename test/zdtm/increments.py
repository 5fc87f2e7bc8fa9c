# SPDX-License-Identifier: GPL-2.0-only
"""Turns images of a dump into incremental ones: a chain of three directories, linked by `parent`, each with some of
the pages. The code follows the image format alone, so no criu with incremental dumps is needed."""

import os
import re
import struct

PAGE = 4096
PARENT, LAZY, PRESENT = 1, 2, 4
DEPTH = 3


def split(images):
    """Leaves a third of the pages in the directory, and moves the others to IMAGES.parent and IMAGES.parent.parent.
    These hold wrong content for pages that a younger directory has."""
    folders = [images] + [images + ".parent" * level for level in range(1, DEPTH)]
    for child, parent in zip(folders, folders[1:]):
        os.mkdir(parent)
        os.symlink(os.path.join("..", os.path.basename(parent)), os.path.join(child, "parent"))
    for name in sorted(os.listdir(images)):
        if re.fullmatch(r"pagemap-.*\.img", name):
            split_pagemap(folders, name)


def relies_on_parent(images):
    """Returns true if a page is in the parent only."""
    for name in os.listdir(images):
        if re.fullmatch(r"pagemap-.*\.img", name):
            with open(os.path.join(images, name), "rb") as file:
                _, records = read_records(file.read())
            if any(decode(record, True).get(4, 0) & PARENT for record in records[1:]):
                return True
    return False


def split_pagemap(folders, name):
    """Splits a pagemap and its pages file."""
    with open(os.path.join(folders[0], name), "rb") as file:
        magics, records = read_records(file.read())
    head, entries = records[0], [decode(record) for record in records[1:]]
    pages_name = f"pages-{decode(head)[1]}.img"
    with open(os.path.join(folders[0], pages_name), "rb") as file:
        pages = file.read()
    for level, folder in enumerate(folders):
        out = [head]
        content = bytearray()
        at = 0
        number = 0
        for entry in entries:
            flags = entry.get(4, PRESENT)
            for page in range(entry[5]):
                address = entry[1] + page * PAGE
                if not flags & PRESENT:
                    if level == 0:
                        out.append(encode(address, flags))
                    continue
                home = number // 2 % DEPTH  # pairs of pages, so that runs of different directories overlap
                number += 1
                if home > level:
                    out.append(encode(address, PARENT))
                else:
                    out.append(encode(address, flags))
                    content += pages[at:at + PAGE] if home == level else b"stale..." * (PAGE // 8)
                at += PAGE
        write_records(os.path.join(folder, name), magics, out)
        with open(os.path.join(folder, pages_name), "wb") as file:
            file.write(content)


def read_records(data):
    """Returns the two magics and the records after them."""
    at = 8
    records = []
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        records.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return data[:8], records


def write_records(path, magics, records):
    """Writes an image file."""
    with open(path, "wb") as file:
        file.write(magics + b"".join(struct.pack("<I", len(record)) + record for record in records))


def decode(record, leave_out=False):
    """Returns the numbers of a record by field. `leave_out`: leaves out lists of numbers, which extensions have."""
    fields = {}
    at = 0
    while at < len(record):
        key, at = varint(record, at)
        if leave_out and key & 7 == 2:
            size, at = varint(record, at)
            at += size
            continue
        if key & 7:
            raise ValueError(f"field {key >> 3} is no number")
        fields[key >> 3], at = varint(record, at)
    return fields


def varint(data, at):
    """Returns a base 128 number and the offset after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def encode(address, flags):
    """Returns an entry of one page in the format of CRIU 4.2."""
    return encode_numbers({1: address, 2: 0, 4: flags, 5: 1})


def encode_numbers(fields):
    """Returns a record with the numbers of decode()."""
    out = bytearray()
    for field, value in fields.items():
        out.append(field << 3)
        while value >= 0x80:
            out.append(value & 0x7f | 0x80)
            value >>= 7
        out.append(value)
    return bytes(out)
