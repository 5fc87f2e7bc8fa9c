// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/memory/pages/ranges.hpp"
#include "criu/memory/shmem/memory_object.hpp"

namespace criu {
class StopRequest;
}

namespace criu::memory {
class PageSource;
class PageSources;
}  // namespace criu::memory

namespace criu::engine {

/// File of a memory provider. Pages that the images lack are holes.
class ServedFile {
public:
    enum class Use { Copied, Mapped };

    /// `file`: empty file of the size of `range`. `range`: part of the source that becomes the file. `use`: a restore
    /// copies the file, which then gets all seals, or maps it as the memory of a tree. Throws Error.
    ServedFile(std::shared_ptr<const memory::PageSource> source, UniqueFd file, memory::Range range, Use use);

    /// Reads the content when it is called for the first time. Thread-safe. Throws Error.
    void fill(StopRequest& stop);

    /// Returns a descriptor for a restore, which is open for writing only if the restore maps the file. Throws Error.
    [[nodiscard]] UniqueFd forRestore() const;

private:
    std::shared_ptr<const memory::PageSource> source_;
    const memory::Range range_;
    const Use use_;
    UniqueFd file_;
    std::mutex filling_;
    bool filled_ = false;
};

/// Memory of an images directory, for many restores at the same time. All restores get the same files of private
/// memory, so criu reads the images once. Thread-safe.
class ServedMemory {
public:
    /// All arguments must outlive the object. Throws Error.
    ServedMemory(const RestoreImages& images, const ImageDir& directory, const memory::PageSources& pages);

    /// Returns the file of private memory. Returns null if this memory must come from the images, because a restore
    /// doesn't copy it from a file, or because the images lack content. Throws Error if no mapping of the images has
    /// this range.
    [[nodiscard]] std::shared_ptr<ServedFile> privateMemory(TreePid pid, memory::Range range);

    /// Returns a new file for shared anonymous memory, which becomes the memory of one restored tree. Returns null for
    /// a memfd, which a restore itself creates with its name, mode and owner. Returns null if the images have no pages
    /// of it, or lack content. Throws Error if the object has pages beyond `size`.
    [[nodiscard]] std::shared_ptr<ServedFile> sharedMemory(std::uint64_t shmid, std::uint64_t size) const;

private:
    const RestoreImages& images_;
    const memory::PageSources& pages_;
    std::set<std::uint64_t> memfds_;  ///< shmids of memfds
    std::mutex mutex_;                ///< guards files_
    std::map<std::tuple<TreePid, std::uint64_t, std::uint64_t>, std::shared_ptr<ServedFile>> files_;
};

}  // namespace criu::engine
