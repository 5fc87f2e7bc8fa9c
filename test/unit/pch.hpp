// SPDX-License-Identifier: GPL-2.0-only
#pragma once
#include <catch2/catch.hpp>

#include "criu/base/pch.hpp"
