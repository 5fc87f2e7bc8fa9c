// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/lazy/lazy_link.hpp"

namespace criu::engine {

/// Connection of a restore with --map-pages to the shared-pages daemon.
struct SharedPagesLink {
    LazyLink link;  ///< connection to the daemon; both use the messages of a lazy-pages daemon
    UniqueFd file;  ///< shared-pages file, which clones map
};

/// Connects to the shared-pages daemon of these images, or starts the daemon. The daemon's abstract socket address
/// depends on the inventory. Both ends pass peer authentication. The calling process must have only one thread. Throws
/// Error.
[[nodiscard]] SharedPagesLink connectToSharedPages(const RestoreImages& images, const ImageDir& directory,
                                                   StopRequest& stop, Log& log);

}  // namespace criu::engine
