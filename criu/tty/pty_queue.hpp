// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/terminal.hpp"

/// Functions for waiting bytes of a pseudoterminal. The kernel has no call that reads bytes without removing them. So
/// a dump reads the bytes, and writes them again at once. When criu writes them, they pass the line
/// discipline again, which must not convert them a second time.
namespace criu::tty {

/// Waiting bytes in one direction of a pseudoterminal.
struct Queued {
    std::vector<std::byte> bytes;
    /// Offsets of the bytes before which a user has typed an end of file (^D), in ascending order. Only for the input
    /// of a slave.
    std::vector<std::uint32_t> endsOfFile;

    [[nodiscard]] bool empty() const noexcept { return bytes.empty() && endsOfFile.empty(); }
};

/// Opens the slave of `master` for criu: for reading and writing, non-blocking, and not as controlling terminal. Throws
/// Error.
[[nodiscard]] UniqueFd openPrivateSlave(int master);

/// Waiting bytes of both directions of a pseudoterminal.
struct Exchanged {
    Queued output;
    Queued input;
    std::size_t lost = 0;  ///< number of bytes that didn't fit, or that the line discipline may have changed
};

/// Lets a stopped process read all waiting bytes of a pseudoterminal and write them again. If criu is killed, the
/// process still writes them. The process must be able to make system calls, the slave must not be its controlling
/// terminal, and the terminal must have no locked settings. `master`: descriptor of the process, for reading and
/// writing. Returns nothing if the process can't do this; the bytes then wait as before. Throws Error, also if bytes
/// may be lost.
/// `record`: function that gets the number of bytes for data before criu maps memory in the process.
[[nodiscard]] std::optional<Exchanged> exchangeInside(compel::FrozenProcess& process, int master,
                                                      const std::function<void(std::size_t)>& record);

/// Reads all input of the slave, including an incomplete line. `slave`: result of openPrivateSlave(). If it throws
/// Error, `into` contains the bytes read so far, and the line settings may have changed.
void takeInput(int slave, Queued& into);

/// Reads all output from the master. Packet mode must be off. If it throws Error, `into` contains the bytes read so
/// far.
void takeOutput(int master, Queued& into);

/// Writes both queues, then sets the line settings of the slave, even after an error. Packet mode must be off. Returns
/// the number of bytes that didn't fit, or that the line discipline may have changed. Throws Error.
[[nodiscard]] std::size_t putQueues(int master, int slave, const Queued& output, const Queued& input,
                                    const kernel::LineSettings& settings);

}  // namespace criu::tty
