// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "criu/image/checksum.hpp"

namespace criu {

/// Checksums of the files that this process has written into a directory. With them, criu needn't read these files
/// again. Several threads may use one object.
class WrittenSums {
public:
    [[nodiscard]] const Checksum& checksum() const noexcept { return checksum_; }

    /// Adds the checksums of a file. They replace older checksums of a file with this name.
    void add(FileSum file);
    /// Forgets the checksums of a file that criu has removed or changed.
    void forget(const std::string& name);
    [[nodiscard]] std::optional<FileSum> find(const std::string& name) const;
    [[nodiscard]] std::vector<FileSum> all() const;

private:
    const Checksum checksum_;
    mutable std::mutex mutex_;
    std::map<std::string, FileSum> files_;
};

}  // namespace criu
