// SPDX-License-Identifier: LGPL-2.1-only
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
