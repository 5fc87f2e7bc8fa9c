// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,five,leave-running
// zdtm: fails-with-4.2 it refuses vxlan devices
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

#include "network.hpp"
#include "zdtm.hpp"

namespace {

using Bytes = std::vector<unsigned char>;

// Options that the headers of Debian 12 lack.
constexpr unsigned short kLabelPolicy = 32;   // IFLA_VXLAN_LABEL_POLICY, Linux 6.7
constexpr unsigned short kReservedBits = 33;  // IFLA_VXLAN_RESERVED_BITS, Linux 6.14

template <typename Value>
Bytes bytes_of(const Value& value) {
    Bytes bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
}

// Appends an attribute to a netlink message.
void add(Bytes& to, unsigned short type, const Bytes& value) {
    const rtattr head{static_cast<unsigned short>(RTA_LENGTH(value.size())), type};
    const Bytes raw = bytes_of(head);
    to.insert(to.end(), raw.begin(), raw.end());
    to.insert(to.end(), value.begin(), value.end());
    to.resize(to.size() + RTA_ALIGN(value.size()) - value.size());
}

// Sends a message about the device and returns the kernel's answer.
Bytes ask(unsigned short type, unsigned short flags, const Bytes& attributes) {
    const int link = SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    struct {
        nlmsghdr head{};
        ifinfomsg info{};
    } start;
    start.head.nlmsg_len = static_cast<unsigned>(sizeof(start) + attributes.size());
    start.head.nlmsg_type = type;
    start.head.nlmsg_flags = static_cast<unsigned short>(NLM_F_REQUEST | flags);
    Bytes message = bytes_of(start);
    message.insert(message.end(), attributes.begin(), attributes.end());
    SYS(send(link, message.data(), message.size(), 0));
    Bytes answer(65536);
    answer.resize(static_cast<std::size_t>(SYS(recv(link, answer.data(), answer.size(), 0))));
    close(link);
    return answer;
}

Bytes name_of_device() {
    Bytes attributes;
    add(attributes, IFLA_IFNAME, {'v', 'x', '0', '\0'});
    return attributes;
}

// Creates the device. Returns false if the kernel refuses it.
bool create(const Bytes& reserved) {
    Bytes options;
    add(options, IFLA_VXLAN_ID, bytes_of(9U));
    add(options, IFLA_VXLAN_PORT, bytes_of(htons(4799)));
    add(options, IFLA_VXLAN_LOCAL6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
    add(options, kLabelPolicy, bytes_of(1U));
    add(options, kReservedBits, reserved);
    Bytes kind;
    add(kind, IFLA_INFO_KIND, {'v', 'x', 'l', 'a', 'n', '\0'});
    add(kind, IFLA_INFO_DATA, options);
    Bytes attributes = name_of_device();
    add(attributes, IFLA_LINKINFO, kind);
    const Bytes answer = ask(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, attributes);
    return reinterpret_cast<const nlmsgerr*>(answer.data() + sizeof(nlmsghdr))->error == 0;
}

// Returns the value of an attribute in a list of attributes.
std::optional<Bytes> find(const Bytes& list, std::size_t start, unsigned short type) {
    while (start + sizeof(rtattr) <= list.size()) {
        rtattr head{};
        std::memcpy(&head, list.data() + start, sizeof(head));
        if (head.rta_len < sizeof(head))
            return std::nullopt;
        if ((head.rta_type & ~NLA_F_NESTED) == type)
            return Bytes(list.data() + start + sizeof(head), list.data() + start + head.rta_len);
        start += RTA_ALIGN(head.rta_len);
    }
    return std::nullopt;
}

// Returns an option of the device, if the kernel shows it.
std::optional<Bytes> option(unsigned short type) {
    const Bytes answer = ask(RTM_GETLINK, 0, name_of_device());
    const auto kind = find(answer, sizeof(nlmsghdr) + sizeof(ifinfomsg), IFLA_LINKINFO);
    const auto options = kind ? find(*kind, 0, IFLA_INFO_DATA) : std::nullopt;
    return options ? find(*options, 0, type) : std::nullopt;
}

}  // namespace

ZDTM("options of a vxlan device that the headers of the system lack: label policy and reserved bits") {
    zdtm::enter_new_network();
    const Bytes reserved = {0xf7, 0xff, 0xff, 0x7f, 0, 0, 0, 0xff};
    if (!create(reserved))
        zdtm::skip("no vxlan devices with a label policy here");
    if (option(kReservedBits) != reserved)
        zdtm::skip("no vxlan devices with reserved bits here");
    me.wait_for_check();
    CHECK(option(kLabelPolicy) == bytes_of(1U), "the label policy is lost");
    CHECK(option(kReservedBits) == reserved, "the reserved bits are lost");
}
