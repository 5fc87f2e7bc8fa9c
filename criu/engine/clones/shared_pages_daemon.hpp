// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::engine {

struct RestoreImages;

/// What a keeper of clones is started with.
struct SharedPagesStart {
    UniqueFd listener;  ///< restores connect to it
    UniqueFd client;    ///< the connection of the first one
    const RestoreImages& images;
    const ImageDir& directory;
    StopRequest& stop;
    Log& log;
};

/// The process that serves the memory of all clones of one checkpoint: has the file that they map, reads its content
/// from the images once, and answers the first touch of each page. It ends with the last clone. If it can't go on, or
/// is killed, the clones end as well: without it they would find the file's bytes in memory that they had given up.
///
/// It is two processes, as a lazy-pages daemon is. One supplies; the other holds the same descriptors and waits for the
/// end of the first. For a fresh child of a restore, from which it keeps the images and, if that is a file, the log.
[[noreturn]] void runSharedPagesDaemon(SharedPagesStart start);

}  // namespace criu::engine
