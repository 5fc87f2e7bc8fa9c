// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/lazy/lazy_link.hpp"

namespace criu::model {
struct Options;
}

namespace criu::engine {

/// Connection of a restore with --map-pages to the shared-pages daemon.
struct SharedPagesLink {
    LazyLink link;  ///< connection to the daemon; both use the messages of a lazy-pages daemon
    UniqueFd file;  ///< shared-pages file, which clones map
};

/// Connects to the shared-pages daemon of these images, or starts the daemon. The name of the daemon's socket depends
/// on the inventory (engine/local_channel.hpp). Both ends pass peer authentication. The calling process must have only
/// one thread. Throws Error, also if the daemon doesn't answer.
[[nodiscard]] SharedPagesLink connectToSharedPages(const RestoreImages& images, const ImageDir& directory,
                                                   const model::Options& options, StopRequest& stop, Log& log);

}  // namespace criu::engine
