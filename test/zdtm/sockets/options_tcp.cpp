// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, five, restore-killed
// zdtm: dump-options --tcp-established
// zdtm: restore-options --tcp-established
// zdtm: network own
// zdtm: fails-with-4.2 it leaves out most of these options

#include "inet_sockets.hpp"
#include "option_samples.hpp"
#include "zdtm.hpp"

ZDTM("each socket option that the kernel accepts on TCP sockets: new, listening and connected") {
    zdtm::OptionSamples samples;
    for (const int family : {AF_INET, AF_INET6}) {
        const std::string name = family == AF_INET ? "TCP of IPv4" : "TCP of IPv6";
        samples.add(name, [&] { return SYS(socket(family, SOCK_STREAM, 0)); });
        samples.add(name + ", listening", [&] { return zdtm::tcp_listener(family); });
        samples.add(name + ", connected", [&] { return zdtm::tcp_connection(family).client; });
        samples.add(name + ", accepted", [&] { return zdtm::tcp_connection(family).server; });
        samples.add(
            name + ", accepted with the listener's", [&] { return zdtm::tcp_listener(family); },
            [](int listener) {
                (void)zdtm::tcp_connected(zdtm::Inet::of(listener));
                return SYS(accept(listener, nullptr, nullptr));
            });
    }
    CHECK(samples.count() > 100, "%zu options are known here", samples.count());
    me.wait_for_check();
    samples.check();
}
