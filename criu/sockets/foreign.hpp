// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>

#include "criu/files/open_fd.hpp"

namespace criu::sockets {

/// Throws Error for a socket of another network namespace than criu's own.
void refuseForeign(const files::OpenFd& file);

/// The same for many sockets, at less cost. Its first use says which network namespace is criu's.
class ForeignSockets {
public:
    void refuse(const files::OpenFd& file);

private:
    std::optional<std::uint64_t> own_;  ///< number of the namespace since boot
};

}  // namespace criu::sockets
