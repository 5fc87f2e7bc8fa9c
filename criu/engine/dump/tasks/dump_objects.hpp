// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>

#include "images/fs.fwd.hpp"

namespace criu {
class ImageDir;
}

namespace criu::engine {

class DumpNamespaces;
class FileCollector;
struct FrozenTask;

/// Writes the image with the ids of a process' kernel objects. Throws Error. `number`: id for objects that the process
/// shares with no other process. `table`: id of the descriptor table.
void dumpIds(const FrozenTask& task, std::uint32_t number, std::uint32_t table, const DumpNamespaces& namespaces,
             const ImageDir& images);

/// Writes the image of a process' working directory, root and umask. Throws Error.
void dumpPaths(const FrozenTask& task, FileCollector& files, const ImageDir& images);

/// Returns directories and umasks of threads that don't share them with the main thread. The core images of these
/// threads need them. The key is model::ThreadObjects::fs. Throws Error.
[[nodiscard]] std::map<std::uint32_t, FsEntry> threadPaths(const FrozenTask& task, FileCollector& files);

}  // namespace criu::engine
