# SPDX-License-Identifier: GPL-2.0-only
"""Images as dicts and back: every kind, every way in which fields are shown, contents of all sizes."""

import io
import json
import os
import re
import struct
import unittest

import pycriu
from pycriu import _schema, images
from pycriu.images.kinds import KINDS
from programs import ROOT

SIZES = (0, 1, 7, 8, 9, 56, 57, 58, 4095, 12289)


def through_json(data, pretty):
    """The bytes that become of an image when it is made JSON and that an image."""
    return images.dumps(json.loads(json.dumps(images.loads(data, pretty))))


class RoundTrips(unittest.TestCase):
    """Bytes stay what they are."""

    def check(self, magic, *entries):
        """An image of these entries stays the same, both ways; returns it."""
        data = images.dumps({"magic": magic, "entries": list(entries)})
        for pretty in (False, True):
            with self.subTest(magic=magic, pretty=pretty):
                self.assertEqual(through_json(data, pretty), data)
        self.assertEqual(images.info(io.BytesIO(data))["count"], len(entries) - (magic == "PAGEMAP"))
        return data

    def filled(self, message, depth=0):
        """A dict with every field of a message set."""
        result = {}
        for facts in _schema.fields_of(message).values():
            kind = facts.type
            if kind == _schema.Field.TYPE_MESSAGE:
                if depth > 4:
                    continue
                value = self.filled(facts.type_name, depth + 1)
            elif kind == _schema.Field.TYPE_ENUM:
                value = max(_schema.enumeration(facts.type_name).values())
            elif kind == _schema.Field.TYPE_BYTES:
                value = "YWI=\n"
            elif kind == _schema.Field.TYPE_STRING:
                value = "text"
            elif kind == _schema.Field.TYPE_BOOL:
                value = True
            else:
                value = 0x7FFFFFFF
            result[facts.name] = [value] if facts.repeated else value
        return result

    def test_every_kind_with_every_field(self):
        for kind in KINDS.values():
            if kind.content is None and not kind.first and kind.tag != "ENCRYPTED":
                self.check(kind.tag, self.filled(kind.message), self.filled(kind.message))

    def test_pagemaps(self):
        self.check("PAGEMAP", {"pages_id": 1}, {"vaddr": 4096, "compat_nr_pages": 0, "flags": 4, "nr_pages": 1 << 33},
                   {"vaddr": 1 << 46, "compat_nr_pages": 3, "in_parent": True})

    def test_contents_of_all_sizes(self):
        for size in SIZES:
            data = bytes(range(256)) * (size // 256 + 1)
            text = images.contents.encoded(data[:size])
            self.check("PIPES_DATA", {"pipe_id": 1, "bytes": size, "extra": text}, {"pipe_id": 2, "bytes": size, "extra": text})
            self.check("SK_QUEUES", {"id_for": 1, "length": size, "extra": text})
            self.check("BPFMAP_DATA", {"map_id": 1, "keys_bytes": size, "values_bytes": 0, "count": 1, "extra": text})
            self.check("TCP_STREAM", {"inq_len": size, "inq_seq": 0, "outq_len": 0, "outq_seq": 1, "opt_mask": 0,
                                      "snd_wscale": 0, "mss_clamp": 1, "extra": {"inq": text, "outq": ""}})

    def test_system_v_objects(self):
        description = {"key": 1, "uid": 0, "gid": 0, "cuid": 0, "cgid": 0, "mode": 0o600, "id": 3}
        for size in SIZES:
            text = images.contents.encoded(bytes([65]) * size)
            self.check("IPCNS_SHM", {"desc": description, "size": size, "extra": text},
                       {"desc": description, "size": 100, "in_pagemaps": True, "extra": ""},
                       {"desc": description, "size": size, "extra": text})
            self.check("IPCNS_MSG", {"desc": description, "qbytes": 1, "qnum": 2, "extra": [
                {"mtype": 1, "msize": size}, text, {"mtype": 1 << 40, "msize": 1}, "QQ==\n"]})
        for count in range(9):
            self.check("IPCNS_SEM", {"desc": description, "nsems": count, "extra": list(range(65535, 65535 - count, -1))})

    def test_deleted_files(self):
        head = {"uid": 0, "gid": 0, "mode": 0o100600, "dev": 1 << 20 | 5, "rdev": 0x1234}
        self.check("GHOST_FILE", {**head, "extra": "QQ==\n"})
        self.check("GHOST_FILE", {**head, "extra": ""})
        self.check("GHOST_FILE", {**head, "chunks": True, "size": 1 << 40},
                   {"len": 1, "off": 0, "extra": "QQ==\n"}, {"len": 2, "off": 1 << 39, "extra": "QUI=\n"})

    def test_names_that_are_not_text(self):
        # A path and the name of an abstract socket, as processes may choose them.
        schema = _schema.lenient()
        file = schema.message("file_entry")(type=1, id=7)
        file.reg.id, file.reg.flags, file.reg.pos, file.reg.name = 7, 0, 0, b"/tmp/\xff\xfe\x80name"
        file.reg.fown.SetInParent()
        file.reg.fown.uid = file.reg.fown.euid = file.reg.fown.signum = file.reg.fown.pid_type = file.reg.fown.pid = 0
        record = file.SerializeToString()
        data = struct.pack("<III", 0x54564319, KINDS["FILES"].magic, len(record)) + record
        for pretty in (False, True):
            self.assertEqual(through_json(data, pretty), data)
        for name in (b"\0abstract", b"line\nbreak", b"\r\nmixed\n", b" trailing \n", b"a=b\t", bytes(range(256))):
            shown = images.pb2dict.pb2dict(schema.message("unix_sk_entry")(name=name))["name"]
            back = images.pb2dict.dict2pb({"name": shown}, schema.message("unix_sk_entry")())
            self.assertEqual(back.name, name)

    def test_what_is_not_described_stays(self):
        # Field 5000 in a record and in a message within it, and a value that an enumeration doesn't have.
        unknown = b"\xc2\xb8\x02\x03abc"
        own = b"\x08\xe7\x07" + unknown
        inner = b"\x08\x01\x10\x02\x18\x03\x20\x04" + unknown
        record = own + b"\x22" + bytes([len(inner)]) + inner
        data = struct.pack("<III", 0x54564319, KINDS["CORE"].magic, len(record)) + record
        entry = images.loads(data)["entries"][0]
        self.assertEqual(entry["mtype"], 999)
        self.assertIn("unknown_fields", entry)
        self.assertIn("unknown_fields", entry["ids"])
        schema = _schema.lenient().message("core_entry")
        again = images.pb2dict.dict2pb(entry, schema()).SerializePartialToString()
        self.assertEqual(schema.FromString(again), schema.FromString(record))
        self.assertEqual(len(again), len(record))

    def test_addresses(self):
        message = _schema.lenient().message("inet_sk_entry")
        for words, shown in (([0x0100007F], "127.0.0.1"), ([0xB80D0120, 0, 0, 0x01000000], "2001:db8::1")):
            words = [int.from_bytes(struct.pack("<I", word), "little") for word in words]
            self.assertEqual(images.pb2dict.pb2dict(message(src_addr=words), pretty=True)["src_addr"], [shown])
            self.assertEqual(images.pb2dict.dict2pb({"src_addr": [shown]}, message()).src_addr, words)
        self.assertEqual(images.pb2dict.pb2dict(message(src_addr=[1, 2]), pretty=True)["src_addr"], [1, 2])

    def test_negative_offsets_of_clocks(self):
        data = images.dumps({"magic": "TIMENS", "entries": [{"monotonic": {"tv_sec": -5, "tv_nsec": 1},
                                                             "boottime": {"tv_sec": 1, "tv_nsec": 2}}]})
        self.assertEqual(images.loads(data)["entries"][0]["monotonic"]["tv_sec"], (1 << 64) - 5)


class Looks(unittest.TestCase):
    """How numbers are shown to people."""

    def test_ways(self):
        mapping = {"start": 4096, "end": 8192, "pgoff": 0, "shmid": 0, "prot": 3, "flags": 0x2000022, "status": 0x201, "fd": -1}
        data = images.dumps({"magic": "VMAS", "entries": [mapping]})
        shown = images.loads(data, pretty=True)["entries"][0]
        self.assertEqual(shown, {**mapping, "start": "0x1000", "end": "0x2000", "prot": "PROT_READ | PROT_WRITE",
                                 "flags": "MAP_PRIVATE | MAP_ANON | 0x2000000",
                                 "status": "VMA_AREA_REGULAR | VMA_ANON_PRIVATE"})
        mount = {name: "x" for name in ("root", "mountpoint", "source", "options")}
        mount.update(fstype=5, mnt_id=1, root_dev=8 << 20 | 17, parent_mnt_id=2, flags=0)
        shown = images.loads(images.dumps({"magic": "MNTS", "entries": [mount]}), pretty=True)["entries"][0]
        self.assertEqual(shown["root_dev"], "8:17")

    def test_hex_holds_for_messages_within(self):
        core = {"mtype": "X86_64", "thread_info": {"clear_tid_addr": 16, "gpregs": {}, "fpregs": {}}}
        message = images.pb2dict.dict2pb({**core, "thread_info": {**core["thread_info"], "gpregs": {"ip": 255}}},
                                         _schema.lenient().message("core_entry")())
        self.assertEqual(images.pb2dict.pb2dict(message, pretty=True)["thread_info"]["gpregs"], {"ip": "0xff"})


class Damage(unittest.TestCase):
    """What is no image is refused, wherever it ends."""

    def test_cut_off_everywhere(self):
        data = images.dumps({"magic": "PIPES_DATA", "entries": [{"pipe_id": 1, "bytes": 3, "extra": "QUJD\n"}]})
        whole = 8  # an image without records is one
        for size in range(len(data)):
            if size != whole:
                with self.subTest(size=size), self.assertRaises(images.ImageError):
                    images.loads(data[:size])

    def test_wrong_entries(self):
        for magic, entry in (("PSTREE", {"pid": 1}), ("PSTREE", {"pid": "x", "ppid": 0, "pgid": 0, "sid": 0}),
                             ("PSTREE", {"pid": 1, "ppid": 0, "pgid": 0, "sid": 0, "colour": 3}),
                             ("PSTREE", {"pid": 1 << 32, "ppid": 0, "pgid": 0, "sid": 0})):
            with self.subTest(entry=entry), self.assertRaises(ValueError):
                images.dumps({"magic": magic, "entries": [entry]})
        with self.assertRaises(images.ImageError):
            images.dumps({"magic": "PIPES_DATA", "entries": [{"pipe_id": 1, "bytes": 3, "extra": "QQ==\n"}]})
        with self.assertRaises(images.MagicException) as caught:
            images.loads(struct.pack("<I", 0xDEAD))
        self.assertEqual(caught.exception.magic, 0xDEAD)


class Tables(unittest.TestCase):
    """The package and criu itself have the same facts."""

    def test_kinds_are_those_of_criu(self):
        with open(os.path.join(ROOT, "criu", "image", "catalogue.cpp"), encoding="utf-8") as source:
            rows = re.findall(r'\{\w+, "[^"]*", "(\w+)", (0x[0-9a-f]+), (\w+), of<(\w+)>\(\)', source.read())
        self.assertGreater(len(rows), 60)
        heads = {"TypeMagic": 0, "Common": images.by_name["IMG_COMMON"], "Service": images.by_name["IMG_SERVICE"]}
        for tag, magic, framing, message in rows:
            kind = KINDS[tag]
            self.assertEqual((kind.magic, kind.head), (int(magic, 16), heads[framing]), tag)
            self.assertEqual((kind.first or kind.message).replace("_", ""), message.lower(), tag)
        self.assertEqual({row[0] for row in rows}, set(KINDS))

    def test_version_is_that_of_criu(self):
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as source:
            self.assertIn(f"project(criu VERSION {pycriu.__version__} ", source.read())

    def test_names_that_programs_import(self):
        self.assertEqual(pycriu.rpc.criu_req_type.Name(pycriu.rpc.RESTORE), "RESTORE")
        self.assertEqual(pycriu.rpc.criu_opts(images_dir_fd=3, external=["a"]).external, ["a"])
        self.assertEqual(images.core_entry().DESCRIPTOR.name, "core_entry")
        self.assertEqual(images.pb.reg_file_entry(name="text").name, "text")
        self.assertEqual(images.by_val[images.by_name["PSTREE"]], "PSTREE")
        self.assertFalse(hasattr(images.pb, "nonsense"))
        import pycriu.rpc_pb2 as rpc  # pylint: disable=import-outside-toplevel
        self.assertIs(rpc.criu_req, pycriu.rpc.criu_req)
