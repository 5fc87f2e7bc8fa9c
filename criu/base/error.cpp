// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/error.hpp"

namespace criu {

std::string_view sourceName(const std::source_location& where) noexcept {
    return where.file_name();  // relative, because criu is compiled with -fmacro-prefix-map
}

}  // namespace criu
