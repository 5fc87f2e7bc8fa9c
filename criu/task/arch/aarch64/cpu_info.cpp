// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/cpu_info.hpp"

#include <sys/auxv.h>
#include <sys/prctl.h>

#include <array>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "images/cpuinfo.hpp"

namespace criu::task {
namespace {

/// Names of the bits of AT_HWCAP and AT_HWCAP2, as /proc/cpuinfo shows them (asm/hwcap.h, arch/arm64/kernel/cpuinfo.c).
constexpr std::array<std::string_view, 64> kFirstNames{
    "fp",    "asimd",    "evtstrm", "aes",   "pmull",  "sha1",  "sha2", "crc32", "atomics", "fphp",    "asimdhp",
    "cpuid", "asimdrdm", "jscvt",   "fcma",  "lrcpc",  "dcpop", "sha3", "sm3",   "sm4",     "asimddp", "sha512",
    "sve",   "asimdfhm", "dit",     "uscat", "ilrcpc", "flagm", "ssbs", "sb",    "paca",    "pacg"};
constexpr std::array<std::string_view, 64> kSecondNames{
    "dcpodp",    "sve2",      "sveaes",    "svepmull", "svebitperm", "svesha3", "svesm4",    "flagm2",    "frint",
    "svei8mm",   "svef32mm",  "svef64mm",  "svebf16",  "i8mm",       "bf16",    "dgh",       "rng",       "bti",
    "mte",       "ecv",       "afp",       "rpres",    "mte3",       "sme",     "smei16i64", "smef64f64", "smei8i32",
    "smef16f32", "smeb16f32", "smef32f32", "smefa64",  "wfxt",       "ebf16",   "sveebf16"};

using Words = std::array<std::uint64_t, 2>;

/// Bits of AT_HWCAP without which the kernel can't restore the floating point state: fp, asimd and sve.
constexpr Words kFloatingPoint{1ULL << 0 | 1ULL << 1 | 1ULL << 22, 0};
constexpr Words kInstructions{~0ULL, ~0ULL};

const CpuinfoAarch64Entry& only(const CpuinfoEntry& entry) {
    if (entry.n_aarch64_entry != 1)
        fail("it is of another processor architecture ({} entries for aarch64)", entry.n_aarch64_entry);
    return *entry.aarch64_entry[0];
}

Words wordsOf(const CpuinfoAarch64Entry& entry) {
    Words words{};
    if (entry.n_hwcap != words.size())
        fail("it has {} words of capabilities instead of {}", entry.n_hwcap, words.size());
    std::copy(entry.hwcap, entry.hwcap + entry.n_hwcap, words.begin());
    return words;
}

std::string nameOf(std::size_t word, unsigned bit) {
    const std::string_view name = word == 0 ? kFirstNames[bit] : kSecondNames[bit];
    return name.empty() ? fmt::format("bit {} of AT_HWCAP{}", bit, word == 0 ? "" : "2") : std::string(name);
}

void requireAll(const Words& there, const Words& here, const Words& considered, std::string_view what) {
    std::string missing;
    for (std::size_t word = 0; word < there.size(); ++word)
        for (unsigned bit = 0; bit < 64; ++bit)
            if ((there[word] & ~here[word] & considered[word]) >> bit & 1U)
                missing += fmt::format("{}{}", missing.empty() ? "" : ", ", nameOf(word, bit));
    if (!missing.empty())
        fail("this processor lacks {} that the dumped tree's had: {}", what, missing);
}

}  // namespace

CpuinfoEntry* describeCpu(Arena& arena) {
    auto* const out = arena.make<CpuinfoEntry>();
    out->n_aarch64_entry = 1;
    out->aarch64_entry = arena.messages<CpuinfoAarch64Entry>(1);
    CpuinfoAarch64Entry& entry = *out->aarch64_entry[0];
    const Words words{::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2)};
    entry.n_hwcap = words.size();
    entry.hwcap = arena.copy(std::span<const std::uint64_t>(words));
    if (const int length = ::prctl(PR_SVE_GET_VL); length >= 0) {
        entry.has_vector_length = 1;
        entry.vector_length = static_cast<std::uint32_t>(length) & PR_SVE_VL_LEN_MASK;
    }
    return out;
}

void compareCpus(const CpuinfoEntry& there, const CpuinfoEntry& here, model::CpuCaps caps) {
    const CpuinfoAarch64Entry& old = only(there);
    const CpuinfoAarch64Entry& now = only(here);
    const Words oldWords = wordsOf(old);
    const Words nowWords = wordsOf(now);
    if (caps.has(model::CpuCap::Fpu)) {
        requireAll(oldWords, nowWords, kFloatingPoint, "registers");
        if (old.vector_length > now.vector_length)
            fail("vectors have at most {} bytes here, and had {} where the tree was dumped", now.vector_length,
                 old.vector_length);
    }
    if (caps.has(model::CpuCap::Ins))
        requireAll(oldWords, nowWords, kInstructions, "instructions");
    if (caps.has(model::CpuCap::Cpu))
        for (std::size_t word = 0; word < oldWords.size(); ++word)
            if (oldWords[word] != nowWords[word])
                fail("this processor isn't the same: capabilities of word {} are {:#x}, and were {:#x}", word,
                     nowWords[word], oldWords[word]);
}

}  // namespace criu::task
