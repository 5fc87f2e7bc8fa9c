// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

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

protected:
    ImageSupply() = default;
};

}  // namespace criu
