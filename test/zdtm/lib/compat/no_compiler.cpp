// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("stands for a 32-bit program where none can be built") {
    zdtm::skip("no compiler for 32-bit programs when the tests were built (g++-12-multilib)");
}
