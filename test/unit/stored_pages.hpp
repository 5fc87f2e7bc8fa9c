// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_reader.hpp"

namespace criu::test {

/// Pages that tests of images store: pages of one process, from one address on.
inline constexpr memory::MemoryObject kStoredTask = memory::MemoryObject::process(TreePid(7));
inline constexpr std::uint64_t kStoredStart = 0x10000;

/// Reads `bytes` of the stored pages, from offset `from` on, like a restore.
inline std::vector<std::byte> loadStored(const ImageDir& images, std::uint64_t from, std::uint64_t bytes,
                                         bool compares = true) {
    const memory::PageSource source = memory::FilePageSources(images, compares).openRequired(kStoredTask);
    memory::PageReader reader(source);
    std::vector<std::byte> loaded(bytes);
    for (std::uint64_t done = 0; done < bytes;) {
        const auto jobs = source.jobs(kStoredStart + from + done, kStoredStart + from + bytes);
        reader.read(jobs.front(), std::span(loaded).subspan(done, jobs.front().bytes));
        done += jobs.front().bytes;
    }
    return loaded;
}

}  // namespace criu::test
