// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes planted-images
#include "zdtm.hpp"

ZDTM("only the owner can read images, whatever the images directory contains") {
    const auto memory = zdtm::map(1 << 20);
    zdtm::fill(memory, 1);
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) == -1, "memory differs");
}
