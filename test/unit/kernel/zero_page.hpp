// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <unistd.h>

#include <cstdint>

#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Returns true if the kernel maps the zero page when a task reads untouched memory. A kernel of some virtual machines
/// (PVM, pvm_no_zero_page) maps a page of the task's own.
inline bool mapsZeroPage() {
    const PagemapScanner scanner(ProcDir().open(::getpid()));
    if (!scanner.seesZeroPage())
        return true;
    const Mapping area = Mapping::anonymous(machinePageSize());
    static_cast<void>(*area.as<volatile char>());
    const auto start = reinterpret_cast<std::uint64_t>(area.data());
    return !scanner.scan(start, start + area.size(), PageQuery{.all = PageIs::PfnZero}).empty();
}

}  // namespace criu::kernel
