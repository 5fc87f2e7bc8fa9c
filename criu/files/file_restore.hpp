// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "criu/base/ids.hpp"
#include "images/fdinfo.fwd.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::files {
class RestoredFile;
}

namespace criu::kernel {
enum class NamespaceKind : std::uint8_t;
}

namespace criu::model {
struct Options;
}

namespace criu::files {

/// Functions that an fd kind may call while the coordinator reads images.
class FileRestore {
public:
    virtual ~FileRestore() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Returns the entry of a file id. Throws Error if the images have no such entry.
    [[nodiscard]] virtual const FileEntry& entry(FileId id) const = 0;
    /// Returns all entries of a type in the order of their ids.
    [[nodiscard]] virtual std::vector<const FileEntry*> entries(FdTypes type) const = 0;
    /// Returns the namespace id of the root's namespace of this kind, or nullopt if the images don't contain it.
    [[nodiscard]] virtual std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind) const = 0;
    /// Returns true if the images contain a process with this pid.
    [[nodiscard]] virtual bool hasProcess(TreePid pid) const = 0;
    /// Returns the object that restores a file. Calls FileKindRestore::collect() for the entry if this hasn't been
    /// done.
    virtual std::shared_ptr<RestoredFile> file(FileId id) = 0;
    /// Returns the open file descriptions of all descriptor tables that contain `id`, each once: table after table, in
    /// the order of descriptor numbers.
    [[nodiscard]] virtual std::vector<FileId> besides(FileId id) const = 0;
    /// Returns the processes that have a descriptor of the file.
    [[nodiscard]] virtual std::vector<TreePid> users(FileId id) const = 0;
    /// Returns true if the file is standard input, output or error of a process.
    [[nodiscard]] virtual bool isStandardStream(FileId id) const = 0;
};

}  // namespace criu::files
