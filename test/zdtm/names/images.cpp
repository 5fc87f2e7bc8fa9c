// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes planted-images
#include "zdtm.hpp"

ZDTM("images are for nobody else, whatever lies in their directory") {
    const auto memory = zdtm::map(1 << 20);
    zdtm::fill(memory, 1);
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) == -1, "memory differs");
}
