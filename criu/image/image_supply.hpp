// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/base/unique_fd.hpp"

namespace criu {

/// Source of images that a restore doesn't find in a directory.
class ImageSupply {
public:
    virtual ~ImageSupply() = default;
    ImageSupply(const ImageSupply&) = delete;
    ImageSupply& operator=(const ImageSupply&) = delete;

    /// Stores a file in the directory. Does nothing if the directory already contains the file, or if the source lacks
    /// it. Any thread and any forked process may call this function. Throws Error.
    virtual void fetch(const std::string& name) const = 0;

    /// Opens a file that the supply doesn't store in the directory. Returns an invalid descriptor if the directory has
    /// the file. `flags`: flags of open(2). Any thread and any forked process may call this function. Throws Error.
    [[nodiscard]] virtual UniqueFd open(const std::string& /*name*/, int /*flags*/) const { return {}; }

    /// Returns the descriptor that open() needs; -1 if it needs none. A forked process that calls open() must keep it.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }

protected:
    ImageSupply() = default;
};

}  // namespace criu
