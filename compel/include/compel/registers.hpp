// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/arch.hpp>

#include COMPEL_ARCH_HEADER(registers.hpp)
