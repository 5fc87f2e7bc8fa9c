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

/// System V shared memory of an IPC namespace that is the tree's own: all segments, whether attached or not.
namespace criu::namespaces {

/// Under which number images have the content of a segment, by its id. Ids are the same in several namespaces.
using ContentNumbers = std::map<int, std::uint32_t>;

/// Writes the segments of the calling thread's namespace, and their contents, whose numbers are their ids unless
/// `contents` has others. Returns pages written. Throws Error.
std::uint64_t dumpSharedMemory(const ImageDir& images, std::uint32_t number, const model::IdMap& owners,
                               const ContentNumbers& contents, memory::PageSinks& sinks, memory::Drainer& drainer);

/// Makes the segments in the calling thread's namespace, with their contents. Returns the ids of those that are to be
/// marked for removal when everybody has them attached. Throws Error.
[[nodiscard]] std::vector<int> restoreSharedMemory(const ImageDir& images, const memory::PageSources& pages,
                                                   std::uint32_t number, const model::IdMap& owners,
                                                   const std::function<void()>& checkStop);

}  // namespace criu::namespaces
