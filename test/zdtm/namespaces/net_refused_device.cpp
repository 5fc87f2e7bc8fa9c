// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes refused
// zdtm: refused device zdtm[01] \(veth\)
#include "network.hpp"
#include "zdtm.hpp"

ZDTM("a network device of its own is refused, and the namespace stays unlocked") {
    zdtm::enter_new_network();
    zdtm::output_of("ip link add zdtm0 type veth peer name zdtm1");
    me.wait_for_check();
    zdtm::output_of("test -z \"$(nft list ruleset)\"");
}
