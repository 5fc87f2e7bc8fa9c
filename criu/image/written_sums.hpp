// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "criu/image/checksum.hpp"

namespace criu {

/// What the files are that this process has written into a directory, so that nothing has to be read again for its
/// checksum. Several threads may use it at once.
class WrittenSums {
public:
    [[nodiscard]] const Checksum& checksum() const noexcept { return checksum_; }

    /// A file has been written. It replaces an earlier one of the same name.
    void add(FileSum file);
    /// A file is gone, or its content isn't known any more.
    void forget(const std::string& name);
    [[nodiscard]] std::optional<FileSum> find(const std::string& name) const;
    [[nodiscard]] std::vector<FileSum> all() const;

private:
    const Checksum checksum_;
    mutable std::mutex mutex_;
    std::map<std::string, FileSum> files_;
};

}  // namespace criu
