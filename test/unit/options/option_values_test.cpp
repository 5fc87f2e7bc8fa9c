// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/option_values.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/page_codec.hpp"

using namespace criu;
using namespace criu::options;
using namespace criu::model;
using Catch::Matchers::Contains;

TEST_CASE("sizes count in powers of 1024") {
    CHECK(parseSize("0") == 0);
    CHECK(parseSize("4096") == 4096);
    CHECK(parseSize("1K") == 1024);
    CHECK(parseSize("8M") == 8U << 20);
    CHECK(parseSize("1g") == 1U << 30);
    CHECK(parseSize("17179869183G") == 17179869183ULL << 30);
    CHECK_THROWS_WITH(parseSize("17179869184G"), Contains("too large"));
    CHECK_THROWS_WITH(parseSize("99999999999999999999"), Contains("too large"));
    for (const char* const text : {"", "K", "1KB", "-1", "0x10", "1 M", " 1", "1T"})
        CHECK_THROWS_WITH(parseSize(text), Contains("not a size"));
}

TEST_CASE("numbers are whole, decimal and in range") {
    CHECK(parseNumber("12", 1, 12) == 12);
    CHECK(parseNumber("-3", -5, 5) == -3);
    CHECK_THROWS_WITH(parseNumber("13", 1, 12), Contains("out of range, use 1 to 12"));
    CHECK_THROWS_WITH(parseNumber("99999999999999999999", 1, 12), Contains("out of range"));
    for (const char* const text : {"", "a", "1a", " 1", "1 ", "+1", "0x1"})
        CHECK_THROWS_WITH(parseNumber(text, 1, 12), Contains("not a number"));
}

TEST_CASE("verbosity is counted in v's or given as a number") {
    using enum LogLevel;
    CHECK(parseVerbosity({}, Warning) == Info);
    CHECK(parseVerbosity("v", Warning) == Debug);
    CHECK(parseVerbosity("vvvvvvvv", Warning) == Debug);
    CHECK(parseVerbosity("0", Warning) == Message);
    CHECK(parseVerbosity("4", Warning) == Debug);
    CHECK(parseVerbosity("7", Warning) == Debug);
    CHECK(parseVerbosity("99999999999", Warning) == Debug);
    CHECK(parseVerbosity("-1", Warning) == Message);
    CHECK(parseVerbosity("erbosity=0", Warning) == Message);
    CHECK_THROWS_WITH(parseVerbosity("x", Warning), Contains("not a level"));
    CHECK(parseVerbosity("", Warning) == Message);
}

TEST_CASE("processor capabilities are a list applied in order") {
    using enum CpuCap;
    const CpuCaps standard{Fpu, Ins};
    CHECK(parseCpuCaps("all", standard) == CpuCaps{Fpu, Cpu, Ins, Image});
    CHECK(parseCpuCaps("none", standard) == CpuCaps{});
    CHECK(parseCpuCaps("cpu", standard) == CpuCaps{Fpu, Cpu, Ins, Image});
    CHECK(parseCpuCaps("none,cpu", standard) == CpuCaps{Cpu, Image});
    CHECK(parseCpuCaps("all,^fpu", standard) == CpuCaps{Cpu, Ins, Image});
    CHECK(parseCpuCaps("^none", {}) == CpuCaps{Fpu, Cpu, Ins, Image});
    CHECK(parseCpuCaps("^all", standard) == CpuCaps{});
    CHECK_THROWS_WITH(parseCpuCaps("sse", standard), Contains("one of: fpu, cpu, ins, all, none"));
}

TEST_CASE("words of closed lists name the others when they are wrong") {
    CHECK(parseCgroupMode("strict") == CgroupMode::Strict);
    CHECK(parseCgroupMode("ignore") == CgroupMode::Ignore);
    CHECK_THROWS_WITH(parseCgroupMode("hard"), Contains("none, props, soft, full, strict, ignore"));
    CHECK(parseNetworkLock("none") == NetworkLock::Skip);
    CHECK_THROWS_WITH(parseNetworkLock(""), Contains("iptables, nftables, skip, none"));
    CHECK(parsePreDumpMode("read") == PreDumpMode::Read);
    CHECK(parseFileValidation("filesize") == FileValidation::FileSize);
    CHECK(parseLsmProfile("selinux:a:b") == LsmProfile{LsmKind::Selinux, "a:b"});
    CHECK_THROWS_WITH(parseLsmProfile("selinux"), Contains("TYPE:PROFILE"));
}

TEST_CASE("each codec of pages can be named, and the help lists all") {
    std::string names;
    for (const PageCodecInfo& info : kPageCodecs) {
        CHECK(parsePageCodec(info.name) == info.codec);
        CHECK(findPageCodec(static_cast<std::uint32_t>(info.codec)) == &info);
        names += (names.empty() ? "" : "|") + std::string(info.name);
        CHECK(kPageCodecLevels.find(fmt::format("{}: 1 (", info.name)) != std::string_view::npos);
        CHECK(kPageCodecLevels.find(fmt::format(" to {} (", info.mostLevel)) != std::string_view::npos);
    }
    CHECK(kPageCodecNames == names);
    CHECK(findPageCodec(0) == nullptr);
    CHECK(findPageCodec(0x10001) == nullptr);
}

TEST_CASE("namespaces to join name a process or file, user ones also ids") {
    CHECK(parseJoinNs("net:/run/netns/a") == JoinNs{kernel::NamespaceKind::Net, "/run/netns/a", {}, {}});
    CHECK(parseJoinNs("user:12,5,6") == JoinNs{kernel::NamespaceKind::User, "12", uid_t{5}, gid_t{6}});
    CHECK_THROWS_WITH(parseJoinNs("net:12,5,6"), Contains("only user"));
    CHECK_THROWS_WITH(parseJoinNs("pid:12"), Contains("ipc, net, time, user, uts, mnt"));
    CHECK_THROWS(parseJoinNs("net"));
    CHECK_THROWS(parseJoinNs("user:,1,2"));
    CHECK_THROWS(parseJoinNs("user:1,2"));
}

TEST_CASE("external resources are type, id and value") {
    CHECK(parseExternal("file[2a:1f]") == External{ExternalType::File, "2a:1f", {}});
    CHECK(parseExternal("file[2a:1f]:x") == External{ExternalType::File, "2a:1f", "x"});
    CHECK_THROWS_WITH(parseExternal("disk[1]"), Contains("use one of: mnt, dev, file"));
    // A container chooses the first path, the caller only the last one.
    CHECK_THROWS_WITH(parseExternal("mnt[/a]:/etc]:/b"), Contains("ambiguous") && Contains("ext_mnt"));
    CHECK_THROWS_WITH(parseExternal("mnt[/a]:/etc]:"), Contains("ambiguous"));
    CHECK(parseExternal("mnt[/a[1]]:/b[2]") == External{ExternalType::Mount, "/a[1]", "/b[2]"});
    Options options;
    for (const char* const text : {"apparmor:unconfined", "console:", "console:/dev/pts/0"})  // LXC 5
        addExternal(text, options);
    CHECK(options.externals.empty());
    addExternal("file[2a:1f]", options);
    CHECK(options.externals.size() == 1);
    CHECK_THROWS(addExternal("apparmor", options));
    for (const char* const text : {"", "file", "file[", "[1]", "file[1", "file[1]x"})
        CHECK_THROWS_WITH(parseExternal(text), Contains("TYPE[ID]"));
}

TEST_CASE("inherited descriptors keep names with brackets whole") {
    Options options;
    parseInheritFd("fd[5]:pipe:[4026]", options);
    parseInheritFd("fd[6]:/tmp/a]:b", options);  // the same name without the slash
    parseInheritFd("debug[1]:begin", options);
    REQUIRE(options.inheritFds.size() == 2);
    CHECK(options.inheritFds[0] == InheritFd{5, "pipe:[4026]"});
    CHECK(options.inheritFds[1] == InheritFd{6, "tmp/a]:b"});
    CHECK(options.inheritMarks == std::vector<InheritMark>{{1, "begin"}});
    CHECK_THROWS_WITH(parseInheritFd("fd[7]:pipe:[4026]", options), Contains("given twice"));
    for (const char* const text : {"", "fd", "fd[5]", "fd[]:a", "fd[a]:a", "fd[-1]:a", "fd[5]:", "fds[5]:a", "]:fd["})
        CHECK_THROWS_AS(parseInheritFd(text, options), Error);
}

TEST_CASE("pairs and lists") {
    CHECK(splitPair("a=b=c", '=', "") == std::pair<std::string, std::string>("a", "b=c"));
    CHECK_THROWS(splitPair("a=", '=', ""));
    CHECK_THROWS(splitPair("=b", '=', ""));
    CHECK(parseList("a,,b,") == std::vector<std::string>{"a", "b"});
    CHECK(parseInodes("1,4294967295") == std::vector<std::uint32_t>{1, 4294967295U});
    CHECK_THROWS(parseInodes("0"));
    CHECK_THROWS(parseInodes("4294967296"));
    CHECK(parseCgroupRoot("/a") == CgroupRoot{"", "/a"});
    CHECK(parseCgroupRoot("name=x:/a") == CgroupRoot{"name=x", "/a"});
    Options options;
    parseExtMount("auto", options);
    parseExtMount("/a:b", options);
    CHECK(options.autoExtMounts);
    CHECK(options.extMounts == std::vector<ExtMount>{{"/a", "b"}});
    parseExtMount("console:", options);
    CHECK(options.extMounts.back() == ExtMount{"console", ""});
    CHECK_THROWS(parseExtMount("console", options));
    CHECK_THROWS(parseExtMount(":b", options));
}
