# SPDX-License-Identifier: GPL-2.0-only
"""Processor-specific parts of a core file: registers in the layout of the kernel's <asm/elf.h> and <asm/user.h>."""

from __future__ import annotations

import abc
import struct

from crit.checkpoint import CheckpointError, Entry

NT_FPREGSET, NT_PRXFPREG, NT_X86_XSTATE = 2, 0x46E62B7F, 0x202
NT_ARM_VFP, NT_ARM_TLS = 0x400, 0x401

Note = tuple[str, int, bytes]  # owner, type, content


def _words(values: list[int], code: str, size: int) -> bytes:
    """Encodes numbers, padded with zeroes to a size in bytes."""
    return struct.pack(f"<{len(values)}{code}", *values).ljust(size, b"\0")[:size]


class Machine(abc.ABC):
    """A processor: ELF machine number, pointer size and layout of registers."""

    elf = 0
    is_64 = True
    id_code = "I"  # struct code of uid and gid in prpsinfo

    @abc.abstractmethod
    def registers(self, core: Entry) -> bytes:
        """Returns general registers in the layout of prstatus."""

    @abc.abstractmethod
    def notes(self, core: Entry) -> list[Note]:
        """Returns notes with the other registers of a thread, floating point first."""


class X86(Machine):
    """64-bit program on x86."""

    elf = 62
    _fp_note = ("CORE", NT_FPREGSET)  # content is the FXSAVE area
    _ORDER = ("r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss fs_base gs_base ds es fs gs"
              ).split()

    def registers(self, core: Entry) -> bytes:
        general = core["thread_info"]["gpregs"]
        return _words([general[name] for name in self._ORDER], "Q", 27 * 8)

    @staticmethod
    def _fxsave(core: Entry) -> bytes:
        fp = core["thread_info"]["fpregs"]
        head = struct.pack("<HHHHQQII", fp["cwd"] & 0xFFFF, fp["swd"] & 0xFFFF, fp["twd"] & 0xFFFF, fp["fop"] & 0xFFFF,
                           fp["rip"], fp["rdp"], fp["mxcsr"], fp["mxcsr_mask"])
        return (head + _words(fp.get("st_space", []), "I", 128) + _words(fp.get("xmm_space", []), "I", 256)).ljust(512, b"\0")

    def _xstate(self, core: Entry) -> bytes:
        """Returns the XSAVE area in the layout of Intel's processors, which debuggers recognize by its size. Components
        whose offset isn't fixed are omitted.
        """
        xsave = core["thread_info"]["fpregs"].get("xsave")
        if not xsave:
            return b""
        components = [(2, 576, 256, "ymmh_space", "I"), (3, 960, 64, "bndreg_state", "Q"), (4, 1024, 64, "bndcsr_state", "Q"),
                      (5, 1088, 64, "opmask_reg", "Q"), (6, 1152, 512, "zmm_upper", "Q"), (7, 1664, 1024, "hi16_zmm", "Q"),
                      (9, 2688, 8, "pkru", "I")]
        area = bytearray(self._fxsave(core).ljust(2696, b"\0"))
        mask, end = 0x3, 832
        for bit, offset, size, name, code in components:
            if name in xsave:
                area[offset:offset + size] = _words(xsave[name], code, size)
                mask |= 1 << bit
                end = max(end, offset + size)
        struct.pack_into("<Q", area, 464, mask)  # the kernel stores XCR0 here
        struct.pack_into("<Q", area, 512, xsave["xstate_bv"] & mask)
        return bytes(area[:end])

    def notes(self, core: Entry) -> list[Note]:
        found: list[Note] = [(*self._fp_note, self._fxsave(core))]
        if state := self._xstate(core):
            found.append(("LINUX", NT_X86_XSTATE, state))
        return found


class Compat(X86):
    """32-bit program on x86."""

    elf = 3
    is_64 = False
    id_code = "H"
    _fp_note = ("LINUX", NT_PRXFPREG)
    _ORDER = "bx cx dx si di bp ax ds es fs gs orig_ax ip cs flags sp ss".split()

    def registers(self, core: Entry) -> bytes:
        general = core["thread_info"]["gpregs"]
        return _words([general[name] & 0xFFFFFFFF for name in self._ORDER], "I", 17 * 4)


class Aarch64(Machine):
    """64-bit program on ARM."""

    elf = 183

    def registers(self, core: Entry) -> bytes:
        general = core["ti_aarch64"]["gpregs"]
        return _words([*general["regs"], general["sp"], general["pc"], general["pstate"]], "Q", 34 * 8)

    def notes(self, core: Entry) -> list[Note]:
        fp = core["ti_aarch64"]["fpsimd"]
        vectors = _words(fp.get("vregs", []), "Q", 512) + struct.pack("<II8x", fp["fpsr"], fp["fpcr"])
        return [("CORE", NT_FPREGSET, vectors), ("LINUX", NT_ARM_TLS, struct.pack("<Q", core["ti_aarch64"]["tls"]))]


class Arm(Machine):
    """32-bit program on ARM."""

    elf = 40
    is_64 = False
    id_code = "H"
    _ORDER = "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 fp ip sp lr pc cpsr orig_r0".split()

    def registers(self, core: Entry) -> bytes:
        general = core["ti_arm"]["gpregs"]
        return _words([general[name] for name in self._ORDER], "I", 18 * 4)

    def notes(self, core: Entry) -> list[Note]:
        fp = core["ti_arm"]["fpstate"]
        vfp = _words(fp.get("vfp_regs", []), "Q", 256) + struct.pack("<I", fp["fpscr"])
        return [("LINUX", NT_ARM_VFP, vfp), ("LINUX", NT_ARM_TLS, struct.pack("<I", core["ti_arm"]["tls"]))]


def machine_of(core: Entry) -> Machine:
    """Returns the processor of a thread. CheckpointError for a processor whose registers aren't supported."""
    kind = core["mtype"]
    if kind == "X86_64":
        return Compat() if core.get("thread_info", {}).get("gpregs", {}).get("mode") == "COMPAT" else X86()
    known = {"AARCH64": Aarch64, "ARM": Arm}
    if kind not in known:
        raise CheckpointError(f"core files of {kind} can't be made; those of X86_64, AARCH64 and ARM can")
    return known[kind]()


