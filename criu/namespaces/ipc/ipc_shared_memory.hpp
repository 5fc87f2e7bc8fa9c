// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/id_map.hpp"
#include "images/ipc-shm.hpp"

/// System V shared memory of a private IPC namespace, including segments that no process has attached.
namespace criu::namespaces {

/// Numbers of segments' contents in images; the key is the segment id. Needed because segments of several namespaces
/// may have equal ids.
using ContentNumbers = std::map<int, std::uint32_t>;

/// Writes the segments of the calling thread's namespace and their contents. `contents`: numbers of contents; a segment
/// without an element has its id as the number. Returns the number of pages written. Throws Error.
std::uint64_t dumpSharedMemory(const ImageDir& images, std::uint32_t number, const model::IdMap& owners,
                               const ContentNumbers& contents, memory::PageSinks& sinks, memory::Drainer& drainer);

/// Creates the segments and their contents in the calling thread's namespace. Returns the ids of segments that the
/// caller must mark for removal after all processes have attached them. Throws Error.
[[nodiscard]] std::vector<int> restoreSharedMemory(const ImageDir& images, const memory::PageSources& pages,
                                                   std::uint32_t number, const model::IdMap& owners,
                                                   const std::function<void()>& checkStop);

}  // namespace criu::namespaces
