// SPDX-License-Identifier: GPL-2.0-only
// A BPF program, made by plain system calls.
#pragma once

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "zdtm.hpp"

namespace zdtm {

// Loads a program that returns 1. Skips the test if the kernel doesn't allow it.
inline int load_program(bpf_prog_type type, bpf_attach_type attach) {
    const bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    bpf_attr attributes{};
    attributes.prog_type = type;
    attributes.expected_attach_type = attach;
    attributes.insns = reinterpret_cast<std::uintptr_t>(code);
    attributes.insn_cnt = sizeof(code) / sizeof(code[0]);
    attributes.license = reinterpret_cast<std::uintptr_t>("GPL");
    const int program = static_cast<int>(syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes)));
    if (program < 0)
        skip("no BPF programs here: %s", strerror(errno));
    return program;
}

}  // namespace zdtm
