// SPDX-License-Identifier: GPL-2.0-only
// Input: configuration files, with all processing of their values.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/options/config_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        criu::model::Options options;
        const std::string_view text(reinterpret_cast<const char*>(data), size);
        criu::options::applySettings(criu::options::parseConfigText(text, "fuzz"), options);
    } catch (const criu::Error&) {
        // An Error for malformed text is correct. Any other exception is a bug.
    }
    return 0;
}
