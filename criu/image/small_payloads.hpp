// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "criu/image/reader.hpp"

namespace criu {

/// Budget for small payloads that criu keeps in memory, so that restored processes needn't open the image for each.
/// They inherit the memory by fork, so the budget is small.
class SmallPayloads {
public:
    /// Reads the payload of a record. Skips it and returns nothing if it is large, or if the budget is spent; the
    /// caller then reads it from the image later.
    [[nodiscard]] std::vector<std::byte> take(ImageReader& reader, std::uint64_t size) {
        constexpr std::uint64_t kSmall = 4096;
        if (size > kSmall || size > left_) {
            reader.skipPayload(size);
            return {};
        }
        left_ -= size;
        return reader.payload(size);
    }

private:
    std::uint64_t left_ = std::uint64_t{1} << 20;
};

}  // namespace criu
