// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/terminal.hpp"

/// Bytes that were written to one side of a pseudoterminal and not yet read from the other. The kernel has no call to
/// peek, so criu reads them and writes them again if the tasks resume. Written bytes pass the line discipline, which
/// must not convert them a second time.
namespace criu::tty {

/// Bytes in one direction.
struct Queued {
    std::vector<std::byte> bytes;
    /// Offsets in `bytes` before which an end of file (^D) was typed. Ascending; only for a slave's input.
    std::vector<std::uint32_t> endsOfFile;

    [[nodiscard]] bool empty() const noexcept { return bytes.empty() && endsOfFile.empty(); }
};

/// Opens the slave of `master` for criu: read-write, non-blocking, not as controlling terminal. Throws Error.
[[nodiscard]] UniqueFd openPrivateSlave(int master);

/// Reads all input of the slave, an unfinished line included. `slave`: openPrivateSlave(). Throws Error; `into` has the
/// bytes read by then, and the line settings may have changed.
void takeInput(int slave, Queued& into);

/// Reads all output from the master. Packet mode must be off. Throws Error; `into` has the bytes read by then.
void takeOutput(int master, Queued& into);

/// Writes both queues and gives the slave `settings`, also if it throws. Packet mode must be off. Returns how many
/// bytes didn't fit or may have changed. Throws Error.
[[nodiscard]] std::size_t putQueues(int master, int slave, const Queued& output, const Queued& input,
                                    const kernel::LineSettings& settings);

}  // namespace criu::tty
