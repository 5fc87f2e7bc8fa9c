# SPDX-License-Identifier: GPL-2.0-only
"""Processors that the virtual machine can have."""

import dataclasses

EXIT_PORT = 0xF4


@dataclasses.dataclass(frozen=True)
class Processor:
    """Differences between the machines of two processors."""
    debian: str  # Debian's name of the architecture
    kernel: str  # how releases of its stock kernel end
    qemu: str  # QEMU's program
    package: str  # package of the program
    words: tuple  # QEMU's options for machine and processor
    console: str  # device of the serial console
    options: str  # options for the kernel
    has_exit_port: bool  # if the guest's exit status becomes QEMU's


# With erms and fsrm, kernel and libc copy memory by an instruction that QEMU interprets byte by byte. The kernel's option
# clearcpuid clears X86_FEATURE_REP_GOOD, by its number (arch/x86/include/asm/cpufeatures.h: word 3, bit 16), which kernels of
# all versions know. Without it the kernel copies and clears pages by ordinary moves, which QEMU translates.
AMD64 = Processor(
    debian="amd64", kernel="amd64", qemu="qemu-system-x86_64", package="qemu-system-x86",
    words=("-cpu", "max,-erms,-fsrm", "-M", "q35", "-device", f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04"),
    console="ttyS0", options=f"clearcpuid={3 * 32 + 16} random.trust_cpu=on", has_exit_port=True)
# The algorithm of pointer authentication may be any; QEMU computes the architecture's own slowly.
# Without mte=on, the processor has no memory tags.
ARM64 = Processor(
    debian="arm64", kernel="arm64", qemu="qemu-system-aarch64", package="qemu-system-arm",
    words=("-cpu", "max,pauth-impdef=on", "-M", "virt,mte=on", "-nic", "none"),
    console="ttyAMA0", options="random.trust_cpu=on", has_exit_port=False)
ALL = {processor.debian: processor for processor in (AMD64, ARM64)}
