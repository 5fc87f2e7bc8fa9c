// SPDX-License-Identifier: GPL-2.0-only
// What --cgroup-props says.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/cgroup/properties.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        criu::cgroup::PropertyTable table;
        table.change(std::string_view(reinterpret_cast<const char*>(data), size));
    } catch (const criu::Error&) {
        // Malformed text is refused by an Error; anything else that gets out is a bug.
    }
    return 0;
}
