// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/arch.hpp"

// clang-format off
#include CRIU_ARCH_HEADER(base/arch/CRIU_ARCH/machine.hpp)
// clang-format on
