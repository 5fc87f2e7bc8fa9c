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

/// Writes the image with ids of a process' kernel objects. `number` is the id of objects that it shares with no
/// process, `table` that of its descriptor table. Throws Error.
void dumpIds(const FrozenTask& task, std::uint32_t number, std::uint32_t table, const DumpNamespaces& namespaces,
             const ImageDir& images);

/// Writes the image of a process' working directory, root and umask. Throws Error.
void dumpPaths(const FrozenTask& task, FileCollector& files, const ImageDir& images);

/// Returns directories and umasks of threads that don't share them, by model::ThreadObjects::fs. They belong in the
/// core images of these threads. Throws Error.
[[nodiscard]] std::map<std::uint32_t, FsEntry> threadPaths(const FrozenTask& task, FileCollector& files);

}  // namespace criu::engine
