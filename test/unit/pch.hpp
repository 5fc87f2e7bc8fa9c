// SPDX-License-Identifier: GPL-2.0-only
// Macro instead of #pragma once: a precompiled header from the compiler cache may name this file by another path.
#ifndef TEST_UNIT_PCH_HPP
#define TEST_UNIT_PCH_HPP
#include <catch2/catch.hpp>

#include "criu/base/pch.hpp"

#endif  // TEST_UNIT_PCH_HPP
