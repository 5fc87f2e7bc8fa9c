// SPDX-License-Identifier: GPL-2.0-only
// Input: the argument of --cgroup-props.
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
        // An Error for malformed text is correct. Any other exception is a bug.
    }
    return 0;
}
