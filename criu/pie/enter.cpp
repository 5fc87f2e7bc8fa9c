// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/enter.hpp"

#include "interpreter.hpp"

namespace criu::pie {

const compel::Blob& interpreterBlob() noexcept {
    return interpreter::blob;
}

}  // namespace criu::pie
