// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"

#include <cstring>

namespace criu {

Error::Error(int code, std::string attempted, std::source_location where)
    : code_(code), where_(where), attempted_(std::move(attempted)) {
    compose();
}

Error& Error::addContext(std::string_view context) {
    contexts_.emplace_back(context);
    compose();
    return *this;
}

Error& Error::addHint(std::string_view hint) {
    hint_ = hint;
    compose();
    return *this;
}

void Error::compose() {
    text_.clear();
    for (auto context = contexts_.rbegin(); context != contexts_.rend(); ++context) {
        text_ += *context;
        text_ += ": ";
    }
    text_ += attempted_;
    if (code_ != 0) {
        char buffer[128];
        text_ += ": ";
        text_ += ::strerror_r(code_, buffer, sizeof(buffer));
    }
    if (!hint_.empty()) {
        text_ += " (";
        text_ += hint_;
        text_ += ')';
    }
}

std::string_view sourceName(const std::source_location& where) noexcept {
    return where.file_name();  // the build makes it relative (-fmacro-prefix-map)
}

}  // namespace criu
