// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace criu {

/// Where images come from that aren't in their directory yet.
class ImageSupply {
public:
    virtual ~ImageSupply() = default;
    ImageSupply(const ImageSupply&) = delete;
    ImageSupply& operator=(const ImageSupply&) = delete;

    /// Puts a file into the directory, if it isn't there and there is one. For any thread, and for processes that were
    /// forked. Throws Error.
    virtual void fetch(const std::string& name) const = 0;

protected:
    ImageSupply() = default;
};

}  // namespace criu
