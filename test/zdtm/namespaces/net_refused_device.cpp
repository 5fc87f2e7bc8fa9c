// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused device zdtm0 \(dummy\)
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a network device of its own is refused, and the namespace stays unlocked") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add zdtm0 type dummy");
    me.wait_for_check();
    zdtm::output_of("nft list ruleset | grep -v . || test -z \"$(nft list ruleset)\"");
}
