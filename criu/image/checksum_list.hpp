// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "criu/image/checksum.hpp"
#include "images/inventory.fwd.hpp"

/// Lists of what the files of a directory of images were when they were written (ImageKind::Checksums). The content of
/// pages files isn't in them: pagemaps have checksums of it.
namespace criu {

class ImageDir;

/// Who writes a list; the number of its file.
enum class ChecksumList : std::uint32_t { OfDump = 1, OfPageServer = 2 };

/// Writes a list. The directory takes checksums (ImageDir::takeChecksums()). Throws Error.
void writeChecksums(const ImageDir& images, ChecksumList list, std::span<const FileSum> files);

/// Writes the inventory, the last image of a dump. If the directory takes checksums, the list of all others is written
/// before it, with that of the inventory itself. `checkStop` is called between files, from any thread, and throws if
/// the work is to end. Throws Error.
void completeImages(const ImageDir& images, InventoryEntry& inventory, const std::function<void()>& checkStop);

/// Compares a directory's files with its lists.
class ChecksumCheck {
public:
    /// What is called with each damage, in words, from any thread. It may throw, and so end the check.
    using Damaged = std::function<void(const std::string&)>;

    /// Does it, with all cores if there is much to read. `checkStop`: as above. Throws Error for what `damaged` isn't
    /// asked about: files that can't be read.
    ChecksumCheck(const ImageDir& images, const Damaged& damaged, const std::function<void()>& checkStop);

    /// Files that lists name; 0 if there are no lists.
    [[nodiscard]] std::size_t files() const noexcept { return files_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    std::size_t files_ = 0;
    std::uint64_t bytes_ = 0;
};

/// Compares the files of a directory, and of all its opened parents, with their lists. Throws Error at the first
/// damage; does nothing where there are no lists.
void requireUndamaged(const ImageDir& images, const std::function<void()>& checkStop);

}  // namespace criu
