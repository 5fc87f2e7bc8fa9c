// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

#include <compel/blob.hpp>

#include "criu/base/ids.hpp"
#include "criu/base/journal.hpp"

namespace criu::pie {

/// Blob that a dump maps into dumped processes, with memory for data after it.
enum class InjectedBlob : std::uint8_t { Interpreter, PtyExchange };

/// Adds a line "injects" to the journal. Call it before the blob is mapped, because the kernel chooses its address. A
/// killed dump may leave the blob in the process. `startTime`: of the process, in clock ticks since boot. `dataSize`:
/// size of the memory for data in bytes.
void recordInjection(InjectedBlob blob, HostPid process, std::uint64_t startTime, std::uint64_t dataSize,
                     Journal& journal) noexcept;

/// Content of a line "injects".
struct InjectionRecord {
    /// Reads the line. Throws Error for a damaged line.
    static InjectionRecord of(const JournalLine& line);

    const compel::Blob* blob;
    std::string process;    ///< pid
    std::string startTime;  ///< as in recordInjection()
    std::uint64_t dataSize;
};

}  // namespace criu::pie
