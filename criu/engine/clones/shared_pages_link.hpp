// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/engine/lazy/lazy_link.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::engine {

struct RestoreImages;

/// What a restore with --map-pages has of the keeper of its images' clones.
struct SharedPagesLink {
    LazyLink link;  ///< messages as those to a lazy-pages daemon
    UniqueFd file;  ///< that clones map; see memory/clones/clone_file.hpp
};

/// Connects to the keeper of the clones of these images; starts it if there is none. It is found by an abstract socket
/// whose name says which inventory it is about, and both ends look at the other's user. The calling process has no
/// other threads. Throws Error.
[[nodiscard]] SharedPagesLink connectToSharedPages(const RestoreImages& images, const ImageDir& directory,
                                                   StopRequest& stop, Log& log);

}  // namespace criu::engine
