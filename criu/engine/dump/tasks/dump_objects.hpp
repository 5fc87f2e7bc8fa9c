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

/// Writes the image that numbers the kernel objects of a process. `number`: of those that it shares with no other
/// process; `table`: of its descriptors. Throws Error.
void dumpIds(const FrozenTask& task, std::uint32_t number, std::uint32_t table, const DumpNamespaces& namespaces,
             const ImageDir& images);

/// Writes the image of a process' working directory, root and umask. Throws Error.
void dumpPaths(const FrozenTask& task, FileCollector& files, const ImageDir& images);

/// Those of its threads that have their own, by model::ThreadObjects::fs; they belong into the core images of these
/// threads. Throws Error.
[[nodiscard]] std::map<std::uint32_t, FsEntry> threadPaths(const FrozenTask& task, FileCollector& files);

}  // namespace criu::engine
