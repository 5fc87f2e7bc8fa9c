// SPDX-License-Identifier: GPL-2.0-only
// Texts of images that become names of files, or parts of the input of other programs.
#include <catch2/catch.hpp>
#include <string>

#include <linux/rtnetlink.h>

#include "criu/engine/restore/restore_images.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/namespaces/net/device_restore.hpp"
#include "criu/namespaces/net/network_settings.hpp"
#include "criu/namespaces/net/program_inputs.hpp"
#include "image_fixture.hpp"
#include "images/inventory.hpp"
#include "images/netdev.hpp"

using Catch::Contains;
using namespace criu;
using criu::test::errorOf;

namespace {

std::string readWith(const char* runId, std::optional<std::uint32_t> lockMethod) {
    const criu::test::TemporaryDir directory;
    auto images = directory.images();
    InventoryEntry entry = INVENTORY_ENTRY__INIT;
    entry.img_version = 2;
    entry.has_fdinfo_per_id = entry.fdinfo_per_id = 1;
    std::string id = runId != nullptr ? runId : "";
    if (runId != nullptr)
        entry.dump_criu_run_id = id.data();
    if (lockMethod) {
        entry.has_network_lock_method = 1;
        entry.network_lock_method = *lockMethod;
    }
    auto image = images.create(ImageKind::Inventory);
    image.write(entry);
    image.finish();
    const memory::FilePageSources pages(images);
    Log log;
    return errorOf([&] { (void)engine::readImages(images, pages, log); });
}

/// Returns the error for a device of an image, before any is created.
std::string checkDevice(const std::string& name, NdType type, const std::string& kind) {
    std::string nameText = name;
    std::string kindText = kind;
    NetDeviceEntry entry = NET_DEVICE_ENTRY__INIT;
    entry.name = nameText.data();
    entry.type = type;
    entry.ifindex = 2;
    entry.mtu = 1500;
    entry.kind = kindText.data();
    const criu::test::TemporaryDir directory;
    const auto images = directory.images();
    auto image = images.create(ImageKind::Netdev, 9);
    image.write(entry);
    image.finish();
    const auto devices = images.openRequired(ImageKind::Netdev, 9).all<NetDeviceEntry>();
    model::Options options;
    Log log;
    const namespaces::DeviceRestore restore(options, log);
    const namespaces::DevicesOf of[] = {{9, -1, devices}};
    return errorOf([&] { restore.check(of); });
}

}  // namespace

TEST_CASE("the id of a dump, which becomes part of nft's commands, is digits and dashes", "[texts]") {
    for (const char* const bad :
         {"a;flush ruleset ip", "", "0a\n", "zz", "{", "0123456789012345678901234567890123456", "a b", "\"", "-$x"})
        CHECK_THAT(readWith(bad, {}), Contains("inventory.img") && Contains("dump_criu_run_id"));
    for (const char* const good : {"1f0de3a1-9d0f-4c9b-8f3b-0123456789aB", "12345", "-"})
        CHECK_THAT(readWith(good, {}), !Contains("dump_criu_run_id"));
    CHECK_THAT(readWith(nullptr, {}), !Contains("dump_criu_run_id"));
}

TEST_CASE("the method of a lock is known before anything else is read", "[texts]") {
    CHECK_THAT(readWith("1", 3), Contains("inventory.img") && Contains("network_lock_method"));
    CHECK_THAT(readWith("1", 0xffffffff), Contains("network_lock_method"));
    for (const std::uint32_t good : {0U, 1U, 2U})
        CHECK_THAT(readWith("1", good), !Contains("network_lock_method"));
}

TEST_CASE("names of network devices are names that the kernel takes", "[texts]") {
    for (const char* const bad :
         {"", ".", "..", "a/b", "../../x", "a b", "a\tb", "a\nb", "\x7f", "sixteencharacter", "a:b"})
        CHECK_THAT(checkDevice(bad, ND_TYPE__BRIDGE, ""), Contains("name"));
    for (const char* const good : {"eth0", "br-0123456789a", "eth0.100", "v@x", "...", "\xc3\xbc"})
        CHECK(checkDevice(good, ND_TYPE__BRIDGE, "").empty());
}

TEST_CASE("a device's kind, which may have the kernel load a module, is one that a dump writes down", "[texts]") {
    for (const char* const good : {"dummy", "ifb", "vxlan"})
        CHECK(checkDevice("d0", ND_TYPE__PLAIN, good).empty());
    for (const char* const above : {"vlan", "ipvlan"})
        CHECK_THAT(checkDevice("d0", ND_TYPE__PLAIN, above), Contains("lower device"));
    for (const char* const bad : {"wireguard", "", "dummy\n", "../x", "can"})
        CHECK_THAT(checkDevice("d0", ND_TYPE__PLAIN, bad), Contains("kind"));
}

TEST_CASE("values of the network's settings are numbers and addresses", "[texts]") {
    const auto check = [](const char* text) {
        std::string value = text;
        SysctlEntry setting = SYSCTL_ENTRY__INIT;
        setting.type = SYSCTL_TYPE__CTL_STR;
        setting.sarg = value.data();
        SysctlEntry* settings[] = {&setting};
        NetDeviceEntry device = NET_DEVICE_ENTRY__INIT;
        device.conf6 = settings;
        device.n_conf6 = 1;
        NetnsEntry network = NETNS_ENTRY__INIT;
        network.ipv4_sysctl = settings;
        network.n_ipv4_sysctl = 1;
        return errorOf([&] { namespaces::requireSettings(device); }) +
               errorOf([&] { namespaces::requireSettings(network); });
    };
    for (const char* const good : {"1", "-1", "0\t2147483647", "fd00::1", "fe80:0:0::192.168.0.1"})
        CHECK(check(good).empty());
    for (const char* const bad :
         {"1\n2", "/bin/sh", "|x", "1;2", "00000000000000000000000000000000000000000000000000000000000000000"})
        CHECK_THAT(check(bad), Contains("is no value"));
}

TEST_CASE("what ip restores are whole messages of one type", "[texts]") {
    const auto message = [](std::uint16_t type, std::uint32_t length) {
        nlmsghdr header{};
        header.nlmsg_len = length;
        header.nlmsg_type = type;
        return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + std::string(8, '\0');
    };
    const auto check = [](const std::string& saved) {
        return errorOf([&] { namespaces::requireSavedByIp(saved, RTM_NEWADDR); });
    };
    const std::string good = message(RTM_NEWADDR, 24);
    CHECK(check("MAGI").empty());
    CHECK(check("MAGI" + good + good).empty());
    CHECK_THAT(check("MAG"), Contains("cut off"));
    CHECK_THAT(check("MAGI" + good + good.substr(0, 23)), Contains("cut off"));
    CHECK_THAT(check("MAGI" + message(RTM_NEWADDR, 0)), Contains("cut off"));
    // Such a message could move a device to any other namespace.
    CHECK_THAT(check("MAGI" + good + message(RTM_NEWLINK, 24)), Contains("message of type 16"));
}

TEST_CASE("rules for iptables-restore can't have it load code or run programs", "[texts]") {
    const auto check = [](const std::string& lines) {
        return errorOf([&] { namespaces::requireIptablesRules(lines); });
    };
    CHECK(check("# Generated by iptables-save\n*filter\n:INPUT ACCEPT [0:0]\n:my-chain - [1:2]\n"
                "-A INPUT -s 10.0.0.0/8 ! -i lo -p tcp -m tcp --dport 80 -m comment --comment \"it's -M /x\" -j DROP\n"
                "[3:4] -A my-chain -m mark --mark 0x1/0xff -g other\n"
                "-A INPUT -j LOG --log-prefix \"-t \\\"x\\\" \" --log-level 4\n"
                "-A INPUT -m string --string \"-F\" --algo bm --to 65535 -m comment --comment -F\n"
                "-A INPUT -m limit --limit 5/min -m owner --uid-owner 0 -j RETURN\nCOMMIT\n")
              .empty());
    for (const char* const bad : {"-A INPUT -M /tmp/evil -j DROP",
                                  "-A INPUT --modprobe=/tmp/evil",
                                  "-A INPUT --modp /tmp/evil",
                                  "-A INPUT -nM/tmp/x",
                                  "-A INPUT -4M/tmp/x",
                                  "-A INPUT -m comment --comment --comment -M /x",
                                  "-A INPUT -m -M /x",
                                  "-A --string -F",
                                  "-A INPUT -s --comment -F",
                                  "-A INPUT -p tcp --dport --string -F",
                                  "-A INPUT -f --comment -F",
                                  "-A INPUT -j",
                                  "-A INPUT \"-M\" /tmp/evil",
                                  "-A INPUT -\"M/tmp/evil\"",
                                  "-A INPUT --table nat",
                                  "-A INPUT -t nat",
                                  "-F",
                                  "-X x",
                                  "-P INPUT DROP",
                                  "-I INPUT -j DROP",
                                  "[0:0]",
                                  "[0:0] -D INPUT 1",
                                  "-A INPUT -m ../../tmp/evil",
                                  "-A INPUT -j a/b",
                                  "-A INPUT -j \"open",
                                  "-A INPUT --m x",
                                  "exit",
                                  ":",
                                  ":INPUT",
                                  ":INPUT -x",
                                  "*",
                                  "*a/b",
                                  "-A INPUT\x01",
                                  "-A INPUT -j X\rY"})
        CHECK_FALSE(check(std::string("*filter\n") + bad + "\nCOMMIT\n").empty());
}

TEST_CASE("rules for nft are tables and nothing else", "[texts]") {
    const auto check = [](const std::string& rules) {
        return errorOf([&] { namespaces::requireNftablesRuleset(rules); });
    };
    CHECK(check("# Warning: table ip x is managed by \"iptables-nft\"\ntable inet t {\n\tset include_list {\n"
                "\t\ttype ipv4_addr . inet_service\n\t\telements = { 1.2.3.4 . 5 }\n\t}\n\tchain c {\n"
                "\t\ttype filter hook input priority filter - 5; policy accept;\n"
                "\t\tiifname \"include*\" counter packets 0 bytes 0 drop comment \"include \\ $x }\"\n\t}\n}\n"
                "table netdev u {\n}\n")
              .empty());
    CHECK(check("").empty());
    for (const char* const bad :
         {"include \"/etc/shadow\"", "table ip t { include \"/etc/shadow\"\n }", "flush ruleset",
          "table ip t { }\nflush ruleset", "table ip t { } ; delete table ip x", "table ip t {", "table ip t { } }",
          "define x = 1", "table ip t { define x = 1\n}", "table ip t { }\ninc\\\nlude \"x\"",
          "table ip t { chain c { include\"/x\" } }", "table ip t { 1include \"/x\" }", "\"flush ruleset\"",
          "table ip t { x = $y }", "table ip t { \x1b }", "{ }", "table ip t { comment \"open }", "5 flush ruleset"})
        CHECK_FALSE(check(bad).empty());
}
