// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace criu {

/// Origin of images that aren't in their directory yet.
class ImageSupply {
public:
    virtual ~ImageSupply() = default;
    ImageSupply(const ImageSupply&) = delete;
    ImageSupply& operator=(const ImageSupply&) = delete;

    /// Puts a file into the directory unless it is there or doesn't exist. Any thread and any forked process may
    /// call it. Throws Error.
    virtual void fetch(const std::string& name) const = 0;

protected:
    ImageSupply() = default;
};

}  // namespace criu
