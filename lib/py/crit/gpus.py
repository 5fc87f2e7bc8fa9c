# SPDX-License-Identifier: GPL-2.0-only
"""GPUs in images. Files of drivers have no magic number: a size in 8 bytes, then a message."""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Iterator
from typing import Any

from pycriu import _schema

from .checkpoint import Checkpoint, CheckpointError


# Name of a file with contents of GPUs, written by CRIU 4.3's cuda_plugin. criu can't read these files.
STORAGE_OF_PLUGIN = re.compile(r"gpu-cs-[0-9]+\.img")


@dataclasses.dataclass
class Gpu:
    """GPU that a process used."""

    pid: int  # first process that uses it; 0 if no process has it open
    name: str
    buffers: int
    size: int  # bytes of all its buffers
    contents: tuple[str, ...] = ()  # files that list or hold its buffers' contents; empty: none


def read_driver_image(checkpoint: Checkpoint, file: str, message: str) -> Any:
    """Reads the message of a driver's file."""
    with open(checkpoint.name(file), "rb") as stream:
        head = stream.read(8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else 1
        data = stream.read(min(size, 1 << 30))
    if len(data) != size:
        raise CheckpointError(f"{checkpoint.name(file)} is too short")
    try:
        return _schema.lenient().message(message).FromString(data)
    except Exception as error:  # versions of protobuf have different classes
        raise CheckpointError(f"{checkpoint.name(file)}: {error}") from error


def pagemap_name(number: int) -> str:
    """Returns the file that lists the content pages of a device (extension device-pages)."""
    return f"pagemap-device-{number}.img"


# Kinds of compute driver buffers with content: video memory, and memory that the driver allocated (kfd_ioctl.h).
_VRAM, _GTT = 1, 2


def _amd_compute(checkpoint: Checkpoint) -> Iterator[Gpu]:
    for file in checkpoint.files_like("amdgpu-kfd-"):
        number = file.removeprefix("amdgpu-kfd-").removesuffix(".img")
        state = read_driver_image(checkpoint, file, "criu_kfd")
        for device in state.device_entries:
            if not device.gpu_id:
                continue
            buffers = [buffer for buffer in state.bo_entries if buffer.gpu_id == device.gpu_id]
            name = (f"AMD {device.vendor_id:04x}:{device.device_id:04x}, {device.vram_size / (1 << 30):.0f} GiB"
                    f" (renderD{device.drm_render_minor}, GPU id {device.gpu_id:#x})")
            contents = ()
            if device.HasField("content_object"):
                contents = (pagemap_name(device.content_object),)
            elif any(buffer.alloc_flags & (_VRAM | _GTT) and not buffer.imported for buffer in buffers):
                contents = (f"amdgpu-pages-{number}-{device.gpu_id:04x}.img",)
            yield Gpu(state.pid, name, len(buffers), sum(buffer.size for buffer in buffers), contents)


def _user_of(checkpoint: Checkpoint, file: int) -> int:
    """Returns the pid of a process that has a file open; 0 if there is none."""
    return next((process.pid for process in checkpoint.processes
                 if any(descriptor["id"] == file for descriptor in process.descriptors)), 0)


def _amd_render(checkpoint: Checkpoint) -> Iterator[Gpu]:
    """Yields render nodes with buffers that the compute driver doesn't know: of graphics, video, and HIP."""
    for file in checkpoint.files_like("amdgpu-renderD-"):
        node = read_driver_image(checkpoint, file, "criu_render_node")
        if not node.bo_entries:
            continue
        name = f"AMD renderD{node.drm_render_minor} (GPU id {node.gpu_id:#x}), open as file {node.id}"
        if node.HasField("content_object"):
            contents: tuple[str, ...] = (pagemap_name(node.content_object),)
        else:
            contents = tuple(f"amdgpu-drm-pages-{node.id}-{node.drm_render_minor}-{index:04x}.img"
                             for index, buffer in enumerate(node.bo_entries) if not buffer.is_import)
        yield Gpu(_user_of(checkpoint, node.id), name, len(node.bo_entries),
                  sum(buffer.size for buffer in node.bo_entries), contents)


def _nvidia_model(gpu: Any) -> str:
    name = gpu.model.decode(errors="replace") or f"NVIDIA {gpu.uuid.decode(errors='replace')}"
    return f"{name}, {gpu.memory / (1 << 30):.0f} GiB" if gpu.memory else name


def _nvidia(checkpoint: Checkpoint) -> Iterator[Gpu]:
    if not checkpoint.exists("cuda.img"):
        return
    state = read_driver_image(checkpoint, "cuda.img", "cuda_image")
    models = sorted({_nvidia_model(gpu) for gpu in state.gpus})
    for process in state.processes:
        yield Gpu(process.pid, f"{' or '.join(models) or 'NVIDIA'}, driver {state.driver.decode(errors='replace')}", 0,
                  process.staged, tuple(pagemap_name(content.object) for content in process.contents))


def gpus_of(checkpoint: Checkpoint) -> list[Gpu]:
    """Returns the GPUs on which processes had memory or queues."""
    return [*_amd_compute(checkpoint), *_amd_render(checkpoint), *_nvidia(checkpoint)]


def storage_of_plugin(checkpoint: Checkpoint) -> Iterator[str]:
    """Yields files with contents of GPUs of the tree that criu can't read. Images of criu itself have a cuda.img."""
    if not checkpoint.exists("cuda.img"):
        for process in checkpoint.processes:
            if checkpoint.exists(f"gpu-cs-{process.pid}.img"):
                yield f"gpu-cs-{process.pid}.img"
