// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "compel/unique_fd.hpp"

namespace criu {
using compel::UniqueFd;
}
