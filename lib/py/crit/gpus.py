# SPDX-License-Identifier: GPL-2.0-only
"""What images say of GPUs. Drivers have files of their own: a size in 8 bytes, then a message, without magic numbers."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator
from typing import Any

from pycriu import _schema

from .checkpoint import Checkpoint, CheckpointError


@dataclasses.dataclass
class Gpu:
    """A GPU that a process used."""

    pid: int
    name: str
    buffers: int
    size: int  # bytes of all buffers on it


def read_driver_image(checkpoint: Checkpoint, file: str, message: str) -> Any:
    """The message in a driver's file."""
    with open(checkpoint.name(file), "rb") as stream:
        head = stream.read(8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else 1
        data = stream.read(min(size, 1 << 30))
    if len(data) != size:
        raise CheckpointError(f"{checkpoint.name(file)} is too short")
    try:
        return _schema.lenient().message(message).FromString(data)
    except Exception as error:  # the class of this exception isn't the same in all versions of protobuf
        raise CheckpointError(f"{checkpoint.name(file)}: {error}") from error


def _amd(checkpoint: Checkpoint) -> Iterator[Gpu]:
    for file in checkpoint.files_like("amdgpu-kfd-"):
        state = read_driver_image(checkpoint, file, "criu_kfd")
        for device in state.device_entries:
            if not device.gpu_id:
                continue
            buffers = [buffer for buffer in state.bo_entries if buffer.gpu_id == device.gpu_id]
            name = (f"AMD {device.vendor_id:04x}:{device.device_id:04x}, {device.vram_size / (1 << 30):.0f} GiB"
                    f" (renderD{device.drm_render_minor}, GPU id {device.gpu_id:#x})")
            yield Gpu(state.pid, name, len(buffers), sum(buffer.size for buffer in buffers))


def _nvidia(checkpoint: Checkpoint) -> Iterator[Gpu]:
    if not checkpoint.exists("cuda.img"):
        return
    state = read_driver_image(checkpoint, "cuda.img", "cuda_image")
    models = sorted({gpu.model.decode(errors="replace") or gpu.uuid.decode(errors="replace") for gpu in state.gpus})
    for process in state.processes:
        yield Gpu(process.pid, f"NVIDIA {' or '.join(models)}, driver {state.driver.decode(errors='replace')}", 0,
                  process.staged)


def gpus_of(checkpoint: Checkpoint) -> list[Gpu]:
    """The GPUs that processes had memory or queues on."""
    return [*_amd(checkpoint), *_nvidia(checkpoint)]
