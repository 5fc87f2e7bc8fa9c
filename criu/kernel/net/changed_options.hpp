// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "criu/base/journal.hpp"

/// Options of dumped sockets that criu changes for a short time. The journal contains their values, so that a killed
/// dump can be reverted.
namespace criu::kernel {

/// Value of an option of the level SOL_SOCKET.
struct OptionValue {
    int name = 0;  ///< SO_ constant
    int value = 0;
};

/// Values of options before the change. The key is the socket's inode number.
using ChangedOptions = std::map<std::uint64_t, std::vector<OptionValue>>;

/// Adds a line "options" to the journal. Call it before the change.
void recordOptions(const ChangedOptions& options, Journal& journal) noexcept;
/// Returns the values in all lines "options" of a journal. Throws Error for a damaged line.
[[nodiscard]] ChangedOptions recordedOptions(const std::vector<JournalLine>& lines);
/// Sets the options of one socket as recorded. Does nothing for a socket without recorded options.
void setRecordedOptions(int socket, const ChangedOptions& options) noexcept;

}  // namespace criu::kernel
