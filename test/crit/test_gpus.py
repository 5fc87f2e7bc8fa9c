# SPDX-License-Identifier: GPL-2.0-only
"""What crit shows of GPUs: who has which, and where contents of their buffers are."""

import struct
import tempfile
import types
import unittest

from crit import explain, gpus, summary
from crit.checkpoint import PAGE, Checkpoint
from pycriu import _schema, images

VRAM, DOORBELL = 1, 1 << 2
CARD = {"gpu_id": 0x5a01, "vendor_id": 0x1002, "device_id": 0x740f, "vram_size": 64 << 30, "drm_render_minor": 128}


def message(name, **fields):
    """A message with these fields, and nothing in the others that it must have."""
    made = _schema.lenient().message(name)()
    for field in made.DESCRIPTOR.fields:
        if field.name in fields:
            value = fields[field.name]
            if isinstance(value, list):
                getattr(made, field.name).extend(value)
            else:
                setattr(made, field.name, value)
        elif field.label == field.LABEL_REQUIRED:
            setattr(made, field.name, b"" if field.type in (field.TYPE_BYTES, field.TYPE_STRING) else 0)
    return made


class OfTwo(Checkpoint):
    """A checkpoint of processes 7 and 8, of which the latter has file 5 open."""

    processes = [types.SimpleNamespace(pid=7, descriptors=[{"id": 3}]),
                 types.SimpleNamespace(pid=8, descriptors=[{"id": 4}, {"id": 5}])]


class Gpus(unittest.TestCase):
    """Files of drivers, as dumps write them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkpoint = OfTwo(folder.name)

    def driver_file(self, name, made):
        data = made.SerializeToString()
        with open(self.checkpoint.name(name), "wb") as file:
            file.write(struct.pack("<Q", len(data)) + data)

    def pagemap(self, number, pages):
        with open(self.checkpoint.name(f"pagemap-device-{number}.img"), "wb") as file:
            file.write(images.dumps({"magic": "PAGEMAP", "entries": [
                {"pages_id": 1}, {"vaddr": "0x0", "compat_nr_pages": pages, "nr_pages": pages, "flags": "PE_PRESENT"}]}))

    def compute(self, **device):
        """Process 7 has 12 pages of video memory in two buffers, one of them another's, and a doorbell."""
        buffers = [message("kfd_bo_entry", size=8 * PAGE, alloc_flags=VRAM, gpu_id=0x5a01),
                   message("kfd_bo_entry", size=4 * PAGE, alloc_flags=VRAM, gpu_id=0x5a01, imported=True),
                   message("kfd_bo_entry", size=2 * PAGE, alloc_flags=DOORBELL, gpu_id=0x5a01)]
        self.driver_file("amdgpu-kfd-3.img", message(
            "criu_kfd", pid=7, device_entries=[message("kfd_device_entry", **CARD, **device)], bo_entries=buffers))

    def render(self, **node):
        buffers = [message("drm_bo_entry", size=PAGE), message("drm_bo_entry", size=PAGE, is_import=1),
                   message("drm_bo_entry", size=2 * PAGE)]
        self.driver_file("amdgpu-renderD-5.img", message(
            "criu_render_node", gpu_id=0x5a01, id=5, drm_render_minor=128, bo_entries=buffers, **node))

    def found(self):
        return [(gpu.pid, gpu.buffers, gpu.size, gpu.contents) for gpu in gpus.gpus_of(self.checkpoint)]

    def missing(self):
        return [finding.text for finding in explain._devices(self.checkpoint) if "is missing" in finding.text]

    def test_contents_in_pages(self):
        self.compute(content_object=1)
        self.render(content_object=2)
        self.pagemap(1, 5)
        self.assertEqual(self.found(), [(7, 3, 14 * PAGE, ("pagemap-device-1.img",)),
                                        (8, 3, 4 * PAGE, ("pagemap-device-2.img",))])
        page = "\n".join(summary._gpus(self.checkpoint))
        self.assertIn("used by 2 processes", page)
        self.assertIn("pagemap-device-1.img, 20.0 KiB in pages", page)
        self.assertIn("pagemap-device-2.img, which is missing", page)
        self.assertEqual(len(self.missing()), 1)
        self.assertIn("pagemap-device-2.img, with what process 8 had on AMD renderD128", self.missing()[0])
        self.pagemap(2, 4)
        self.assertEqual(self.missing(), [])

    def test_contents_in_files_of_4_2(self):
        self.compute()
        self.render()
        names = ["amdgpu-pages-3-5a01.img", "amdgpu-drm-pages-5-128-0000.img", "amdgpu-drm-pages-5-128-0002.img"]
        self.assertEqual(self.found(), [(7, 3, 14 * PAGE, (names[0],)), (8, 3, 4 * PAGE, tuple(names[1:]))])
        self.assertEqual(len(self.missing()), 3)
        for name in names:
            self.driver_file(name, message("criu_render_node"))
        self.assertEqual(self.missing(), [])

    def test_nothing_to_have_contents(self):
        self.driver_file("amdgpu-kfd-3.img", message(
            "criu_kfd", pid=7, device_entries=[message("kfd_device_entry", **CARD)],
            bo_entries=[message("kfd_bo_entry", size=PAGE, alloc_flags=DOORBELL, gpu_id=0x5a01)]))
        self.driver_file("amdgpu-renderD-5.img", message("criu_render_node", id=5))
        self.assertEqual(self.found(), [(7, 1, PAGE, ())])

    def test_both_vendors(self):
        self.compute(content_object=1)
        self.driver_file("cuda.img", message(
            "cuda_image", driver=b"580.1", gpus=[message("cuda_gpu", uuid=b"GPU-1", model=b"NVIDIA H100", memory=80 << 30)],
            processes=[message("cuda_process", pid=8, staged=3 * PAGE)]))
        self.pagemap(1, 12)
        self.assertEqual([gpu[0] for gpu in self.found()], [7, 8])
        page = "\n".join(summary._gpus(self.checkpoint))
        self.assertIn("AMD 1002:740f", page)
        self.assertIn("NVIDIA H100, 80 GiB, driver 580.1", page)

    def test_storage_mode_of_cuda(self):
        contents = [message("cuda_content", object=9, bytes=PAGE)]
        self.driver_file("cuda.img", message(
            "cuda_image", driver=b"615.1", gpus=[message("cuda_gpu", uuid=b"GPU-1", model=b"H100")],
            processes=[message("cuda_process", pid=8, staged=PAGE, contents=contents)]))
        self.assertEqual(self.found(), [(8, 0, PAGE, ("pagemap-device-9.img",))])
        self.assertEqual(len(self.missing()), 1)


if __name__ == "__main__":
    unittest.main()
