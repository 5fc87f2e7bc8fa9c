// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/terminal.hpp"

/// What was written to one side of a pseudoterminal and not read yet on the other. The kernel lets nobody look at it
/// without taking it out, so whoever takes it puts it back if the terminal is to go on. All of it goes through the line
/// discipline on its way in, which must not do its work a second time.
namespace criu::tty {

/// Bytes in one direction.
struct Queued {
    std::vector<std::byte> bytes;
    /// Typed ends of file (^D), which are no bytes: offsets before which they stood. Ascending; slaves only.
    std::vector<std::uint32_t> endsOfFile;

    [[nodiscard]] bool empty() const noexcept { return bytes.empty() && endsOfFile.empty(); }
};

/// A description of the slave of `master` for use here: reading and writing, never waiting, never controlling.
[[nodiscard]] UniqueFd openPrivateSlave(int master);

/// Takes out what the slave's readers would get, an unfinished line included. `slave`: openPrivateSlave(). Throws
/// Error; whatever was taken out by then is in `into`, and the line settings may be others than before.
void takeInput(int slave, Queued& into);

/// Takes out what the master's reader would get. Packet mode must be off. Throws Error; whatever was taken out by then
/// is in `into`.
void takeOutput(int master, Queued& into);

/// Puts both back, for a slave that has (or is about to get) `settings`, and gives it those, also where it throws.
/// Packet mode must be off. Returns how many bytes didn't fit, or may have been changed on their way.
[[nodiscard]] std::size_t putQueues(int master, int slave, const Queued& output, const Queued& input,
                                    const kernel::LineSettings& settings);

}  // namespace criu::tty
