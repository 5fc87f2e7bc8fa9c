// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"

namespace criu {

std::string_view sourceName(const std::source_location& where) noexcept {
    return where.file_name();  // -fmacro-prefix-map makes it relative
}

}  // namespace criu
