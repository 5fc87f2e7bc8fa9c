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

/// System V shared memory of a private IPC namespace: all segments, attached or not.
namespace criu::namespaces {

/// Numbers of segments' contents in images, by segment id. Needed if several namespaces have segments of equal ids.
using ContentNumbers = std::map<int, std::uint32_t>;

/// Writes the segments of the calling thread's namespace and their contents. A content has the segment's id as its
/// number unless `contents` has another. Returns the number of pages written. Throws Error.
std::uint64_t dumpSharedMemory(const ImageDir& images, std::uint32_t number, const model::IdMap& owners,
                               const ContentNumbers& contents, memory::PageSinks& sinks, memory::Drainer& drainer);

/// Creates the segments in the calling thread's namespace, with their contents. Returns the ids of segments to be
/// marked for removal when all processes have attached them. Throws Error.
[[nodiscard]] std::vector<int> restoreSharedMemory(const ImageDir& images, const memory::PageSources& pages,
                                                   std::uint32_t number, const model::IdMap& owners,
                                                   const std::function<void()>& checkStop);

}  // namespace criu::namespaces
