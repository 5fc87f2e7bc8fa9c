// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/lazy/lazy_link.hpp"

namespace criu::engine {

/// Connection of a restore with --map-pages to the shared-pages daemon.
struct SharedPagesLink {
    LazyLink link;  ///< messages like those to a lazy-pages daemon
    UniqueFd file;  ///< the file that clones map; see memory/clones/clone_file.hpp
};

/// Connects to the shared-pages daemon of these images, and starts one if there is none. The name of an abstract socket
/// identifies the inventory. Both ends check the user of the other. The calling process must have only one thread.
/// Throws Error.
[[nodiscard]] SharedPagesLink connectToSharedPages(const RestoreImages& images, const ImageDir& directory,
                                                   StopRequest& stop, Log& log);

}  // namespace criu::engine
