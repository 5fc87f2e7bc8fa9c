// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/error.hpp>

#include <system_error>

namespace compel {

Error::Error(int code, const std::string& attempted)
    : std::runtime_error(code == 0 ? attempted : attempted + ": " + std::generic_category().message(code)),
      code_(code) {}

}  // namespace compel
