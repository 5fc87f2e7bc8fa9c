// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/vma_flags.hpp"

#include <linux/btf.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/mm/btf.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/procdir.hpp"

using namespace criu;
using namespace criu::kernel;

namespace {

constexpr VmFlag kRead = VmFlag::Read;
constexpr VmFlag kWrite = VmFlag::Write;
constexpr VmFlag kLocked = VmFlag::Locked;

void add(std::vector<std::byte>& data, std::initializer_list<std::uint32_t> words) {
    for (const std::uint32_t word : words) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(&word);
        data.insert(data.end(), bytes, bytes + sizeof(word));
    }
}

std::uint32_t infoOf(std::uint32_t kind, std::uint32_t count, bool bitFields = false) {
    return kind << 24 | count | (bitFields ? 1U << 31 : 0);
}

/// Returns types in the BPF type format: 1 int, 2 outer, 3 const of 4, 4 unnamed union, 5 function prototype, 6
/// function.
std::vector<std::byte> someTypes() {
    const std::string names("\0int\0outer\0first\0second\0called\0bits\0", 37);
    const auto at = [&](const char* name) {
        return static_cast<std::uint32_t>(names.find(std::string("\0", 1) + name) + 1);
    };
    std::vector<std::byte> types;
    add(types, {at("int"), infoOf(BTF_KIND_INT, 0), 4, 32});
    add(types, {at("outer"), infoOf(BTF_KIND_STRUCT, 3, true), 16});
    add(types, {at("first"), 1, 0, 0, 3, 64, at("bits"), 1, 3U << 24 | 67});
    add(types, {0, infoOf(BTF_KIND_CONST, 0), 4});
    add(types, {0, infoOf(BTF_KIND_UNION, 1), 8, at("second"), 1, 32});
    add(types, {0, infoOf(BTF_KIND_FUNC_PROTO, 1), 0, at("first"), 1});
    add(types, {at("called"), infoOf(BTF_KIND_FUNC, 0), 5});
    std::vector<std::byte> data;
    add(data, {BTF_MAGIC | BTF_VERSION << 16, sizeof(btf_header), 0, static_cast<std::uint32_t>(types.size()),
               static_cast<std::uint32_t>(types.size()), static_cast<std::uint32_t>(names.size())});
    data.insert(data.end(), types.begin(), types.end());
    const auto* const text = reinterpret_cast<const std::byte*>(names.data());
    data.insert(data.end(), text, text + names.size());
    return data;
}

}  // namespace

TEST_CASE("functions and members are found among types of the kernel", "[vma_flags]") {
    const Btf types(someTypes());
    CHECK(types.functionId("called") == 6);
    CHECK_FALSE(types.functionId("outer"));
    CHECK(types.offsetOf("outer", "first") == 0);
    CHECK(types.offsetOf("outer", "second") == 12);  // in an unnamed union
    CHECK_FALSE(types.offsetOf("outer", "bits"));    // not at a whole byte
    CHECK_FALSE(types.offsetOf("outer", "third"));
    CHECK_FALSE(types.offsetOf("called", "first"));
}

TEST_CASE("malformed types of the kernel are refused", "[vma_flags]") {
    const std::vector<std::byte> whole = someTypes();
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK_THROWS_AS(Btf(std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
                        Error);
    // A change of any byte leads to an error, or to a search that ends.
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::vector<std::byte> damaged = whole;
        damaged[at] = std::byte{0xff};
        try {
            const Btf types(std::move(damaged));
            (void)types.functionId("called");
            (void)types.offsetOf("outer", "second");
            (void)types.offsetOf("outer", "third");
        } catch (const Error&) {
            continue;
        }
    }
}

TEST_CASE("the meaning of bits is learned from samples", "[vma_flags]") {
    const std::vector<VmaFlagBits::Sample> samples{
        {0x11, {kRead}}, {0x13, {kRead, kWrite}}, {0x30, {VmFlag::Shared}}, {0x10, {}}};
    const VmaFlagBits bits(samples);
    CHECK(bits.decode(0x33) == VmFlags{kRead, kWrite, VmFlag::Shared});
    CHECK(bits.decode(0x12) == VmFlags{kWrite});
    CHECK(bits.decode(0x10) == VmFlags{});
    CHECK_FALSE(bits.decode(0x50));  // no sample has bit 6
    const std::vector<VmaFlagBits::Sample> together{{0x3, {kRead, kWrite}}, {0x4, {VmFlag::Shared}}};
    CHECK(VmaFlagBits(together).decode(0x7) == VmFlags{kRead, kWrite, VmFlag::Shared});
    CHECK_FALSE(VmaFlagBits(together).decode(0x1));  // bits that were always set together
    const std::vector<VmaFlagBits::Sample> strange{{0x1, {kRead}}, {0x1, {kRead, kLocked}}};
    CHECK_THROWS_WITH(VmaFlagBits(strange), Catch::Contains("has no bit"));
}

TEST_CASE("flags of mappings are read without smaps", "[vma_flags][root]") {
    std::unique_ptr<VmaFlagReader> reader;
    try {
        reader = std::make_unique<VmaFlagReader>();
    } catch (const Error& error) {
        WARN("can't be tested here: " << error.what());
        return;
    }
    constexpr int kAdvice[] = {MADV_DONTFORK,   MADV_DONTDUMP, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
                               MADV_WIPEONFORK, MADV_RANDOM,   MADV_NORMAL};
    constexpr std::size_t kMany = 3000;
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int advice : kAdvice) {
            Mapping area = Mapping::anonymous(3 * machinePageSize());
            ::madvise(area.as<char>() + machinePageSize(), machinePageSize(), advice);
            area.release();
        }
        // More mappings than the kernel shows in one read.
        Mapping many = Mapping::anonymous(kMany * machinePageSize());
        for (std::size_t page = 0; page < kMany; page += 2)
            ::mprotect(many.as<char>() + page * machinePageSize(), machinePageSize(), PROT_READ);
        many.release();
        (void)!::write(ready[1], "r", 1);
        for (;;)
            ::pause();
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    const ProcPid process = ProcDir().open(child);
    const std::vector<Vma> smaps = readSmaps(process);
    std::vector<Vma> maps = readMaps(process);
    CHECK(reader->addFlags(child, maps));
    REQUIRE(maps.size() == smaps.size());
    CHECK(maps.size() > kMany);
    for (std::size_t at = 0; at < maps.size(); ++at) {
        CAPTURE(at, maps[at].start, maps[at].name);
        CHECK(maps[at].flags == smaps[at].flags);
        CHECK(maps[at].kernelPageSize == smaps[at].kernelPageSize);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (const int end : ready)
        ::close(end);
    std::vector<Vma> gone = maps;
    CHECK_FALSE(reader->addFlags(child, gone));
}
