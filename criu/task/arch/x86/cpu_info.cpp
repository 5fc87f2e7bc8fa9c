// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/cpu_info.hpp"

#include <cpuid.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "criu/base/error.hpp"
#include "images/cpuinfo.hpp"

namespace criu::task {
namespace {

/// Words of capability bits in images of version 2. They are the kernel's words, without most of its synthetic words.
enum Word : unsigned {
    Basic = 0,            // leaf 1, edx
    Extended = 1,         // leaf 0x80000001, edx
    Known = 3,            // synthetic word of the kernel: features of every 64-bit processor
    BasicMore = 4,        // leaf 1, ecx
    ExtendedMore = 6,     // leaf 0x80000001, ecx
    Structured = 9,       // leaf 7, ebx
    Saving = 10,          // leaf 13.1, eax
    StructuredMore = 11,  // leaf 7, ecx
    CacheWatch = 12,      // leaf 15.1, edx
    AmdFeatures = 13,     // leaf 0x80000008, ebx
    Power = 14,           // leaf 6, eax
    Virtual = 15,         // leaf 0x8000000a, edx
    Watch = 16,           // leaf 15, edx
    Faults = 17,          // leaf 0x80000007, ebx
    StructuredLast = 18,  // leaf 7, edx
};
constexpr unsigned kWords = 19;
constexpr unsigned kWordsOfVersion1 = 12;
constexpr std::uint32_t kVersion = 2;

struct Feature {
    Word word;
    unsigned bit;
    std::string_view name;
};

/// Instructions that programs test once by CPUID and then continue to use. Features that only improve performance, such
/// as ERMS, are missing.
constexpr Feature kInstructions[] = {
    {Basic, 0, "fpu"},
    {Basic, 4, "tsc"},
    {Basic, 8, "cx8"},
    {Basic, 11, "sep"},
    {Basic, 15, "cmov"},
    {Basic, 19, "clflush"},
    {Basic, 23, "mmx"},
    {Basic, 24, "fxsr"},
    {Basic, 25, "sse"},
    {Basic, 26, "sse2"},
    {Extended, 11, "syscall"},
    {Extended, 22, "mmxext"},
    {Extended, 27, "rdtscp"},
    {Extended, 30, "3dnowext"},
    {Extended, 31, "3dnow"},
    {BasicMore, 0, "sse3"},
    {BasicMore, 1, "pclmulqdq"},
    {BasicMore, 9, "ssse3"},
    {BasicMore, 12, "fma"},
    {BasicMore, 13, "cx16"},
    {BasicMore, 19, "sse4_1"},
    {BasicMore, 20, "sse4_2"},
    {BasicMore, 22, "movbe"},
    {BasicMore, 23, "popcnt"},
    {BasicMore, 25, "aes"},
    {BasicMore, 26, "xsave"},
    {BasicMore, 27, "osxsave"},
    {BasicMore, 28, "avx"},
    {BasicMore, 29, "f16c"},
    {BasicMore, 30, "rdrand"},
    {ExtendedMore, 0, "lahf_lm"},
    {ExtendedMore, 5, "abm"},
    {ExtendedMore, 6, "sse4a"},
    {ExtendedMore, 7, "misalignsse"},
    {ExtendedMore, 8, "3dnowprefetch"},
    {ExtendedMore, 11, "xop"},
    {ExtendedMore, 16, "fma4"},
    {ExtendedMore, 21, "tbm"},
    {ExtendedMore, 29, "mwaitx"},
    {Structured, 0, "fsgsbase"},
    {Structured, 3, "bmi1"},
    {Structured, 4, "hle"},
    {Structured, 5, "avx2"},
    {Structured, 8, "bmi2"},
    {Structured, 11, "rtm"},
    {Structured, 14, "mpx"},
    {Structured, 16, "avx512f"},
    {Structured, 17, "avx512dq"},
    {Structured, 18, "rdseed"},
    {Structured, 19, "adx"},
    {Structured, 21, "avx512ifma"},
    {Structured, 23, "clflushopt"},
    {Structured, 24, "clwb"},
    {Structured, 26, "avx512pf"},
    {Structured, 27, "avx512er"},
    {Structured, 28, "avx512cd"},
    {Structured, 29, "sha_ni"},
    {Structured, 30, "avx512bw"},
    {Structured, 31, "avx512vl"},
    {Saving, 0, "xsaveopt"},
    {Saving, 1, "xsavec"},
    {Saving, 2, "xgetbv1"},
    {StructuredMore, 1, "avx512vbmi"},
    {StructuredMore, 5, "waitpkg"},
    {StructuredMore, 6, "avx512_vbmi2"},
    {StructuredMore, 8, "gfni"},
    {StructuredMore, 9, "vaes"},
    {StructuredMore, 10, "vpclmulqdq"},
    {StructuredMore, 11, "avx512_vnni"},
    {StructuredMore, 12, "avx512_bitalg"},
    {StructuredMore, 14, "avx512_vpopcntdq"},
    {StructuredMore, 22, "rdpid"},
    {StructuredMore, 25, "cldemote"},
    {StructuredMore, 27, "movdiri"},
    {StructuredMore, 28, "movdir64b"},
    {AmdFeatures, 0, "clzero"},
    {AmdFeatures, 4, "rdpru"},
    {AmdFeatures, 9, "wbnoinvd"},
    {StructuredLast, 2, "avx512_4vnniw"},
    {StructuredLast, 3, "avx512_4fmaps"},
    {StructuredLast, 8, "avx512_vp2intersect"},
    {StructuredLast, 14, "serialize"},
    {StructuredLast, 22, "amx_bf16"},
    {StructuredLast, 23, "avx512_fp16"},
    {StructuredLast, 24, "amx_tile"},
    {StructuredLast, 25, "amx_int8"},
};

/// Features that the kernel needs to save and restore floating point state.
constexpr Feature kFloatingPoint[] = {
    {Basic, 0, "fpu"}, {Basic, 24, "fxsr"}, {BasicMore, 27, "osxsave"}, {Saving, 3, "xsaves"}};

/// State components of XSAVE whose CPUID feature may be disabled.
constexpr struct {
    unsigned component;
    Feature feature;
} kComponentFeatures[] = {
    {0, {Basic, 0, "fpu"}},           {1, {Basic, 25, "sse"}},          {2, {BasicMore, 28, "avx"}},
    {3, {Structured, 14, "mpx"}},     {4, {Structured, 14, "mpx"}},     {5, {Structured, 16, "avx512f"}},
    {6, {Structured, 16, "avx512f"}}, {7, {Structured, 16, "avx512f"}}, {9, {StructuredMore, 3, "pku"}},
};
/// Mask of the state components that criu compares, as CRIU 4.2 does. It lacks SSE, which every processor has, and the
/// bound registers of MPX.
constexpr std::uint64_t kUserComponents = 0x2f5;

using Words = std::array<std::uint32_t, kWords>;

struct Leaf {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
};

/// Returns the registers of a CPUID leaf; zeroes if the processor lacks the leaf.
Leaf leaf(unsigned number, unsigned part = 0) {
    Leaf out;
    if (__get_cpuid_max(number & 0x80000000U, nullptr) >= number)
        __cpuid_count(number, part, out.a, out.b, out.c, out.d);
    return out;
}

bool has(const Words& words, const Feature& feature) {
    return (words[feature.word] >> feature.bit & 1U) != 0;
}

std::string vendorName() {
    const Leaf first = leaf(0);
    std::string name(12, '\0');
    std::memcpy(name.data(), &first.b, 4);
    std::memcpy(name.data() + 4, &first.d, 4);
    std::memcpy(name.data() + 8, &first.c, 4);
    return name;
}

std::string modelName() {
    std::array<unsigned, 12> text{};
    for (unsigned part = 0; part < 3; ++part) {
        const Leaf words = leaf(0x80000002U + part);
        text[4 * part] = words.a;
        text[4 * part + 1] = words.b;
        text[4 * part + 2] = words.c;
        text[4 * part + 3] = words.d;
    }
    std::string name(reinterpret_cast<const char*>(text.data()), sizeof(text));
    name.resize(std::min(name.find('\0'), name.size()));
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    return name;
}

Words capabilities(CpuinfoX86Entry__Vendor vendor, unsigned family) {
    constexpr unsigned kCpuid = 25;  // this bit and the next two are of the word Known
    constexpr unsigned kLongNops = 20;
    constexpr unsigned kFastStrings = 16;
    constexpr unsigned kWatchesCaches = 1;  // bit of the word Watch
    constexpr unsigned kOld3dNow = 31;  // bit of the word Basic on AMD processors; 3DNow also has a bit in another word
    constexpr unsigned kFirstGoodAmd = 0x10;
    constexpr unsigned kIntelFamily = 6;
    Words words{};
    const Leaf first = leaf(1);
    const Leaf seventh = leaf(7);
    const Leaf extended = leaf(0x80000001U);
    words[Basic] = first.d;
    words[BasicMore] = first.c;
    words[Power] = leaf(6).a;
    words[Structured] = seventh.b;
    words[StructuredMore] = seventh.c;
    words[StructuredLast] = seventh.d;
    words[Saving] = leaf(13, 1).a;
    words[Watch] = leaf(15).d;
    if ((words[Watch] >> kWatchesCaches & 1U) != 0)
        words[CacheWatch] = leaf(15, 1).d;
    words[Extended] = extended.d;
    words[ExtendedMore] = extended.c;
    words[Faults] = leaf(0x80000007U).b;
    words[AmdFeatures] = leaf(0x80000008U).b;
    words[Virtual] = leaf(0x8000000aU).d;
    words[Known] = 1U << kCpuid | 1U << kLongNops;
    const bool intel = vendor == CPUINFO_X86_ENTRY__VENDOR__INTEL;
    if (intel ? family == kIntelFamily : family >= kFirstGoodAmd)
        words[Known] |= 1U << kFastStrings;
    if (!intel)
        words[Basic] &= ~(1U << kOld3dNow);
    return words;
}

void describeState(const Words& words, CpuinfoX86Entry& entry) {
    constexpr Feature kXsave{BasicMore, 26, "xsave"};
    entry.has_xfeatures_mask = entry.has_xsave_size = entry.has_xsave_size_max = 1;
    if (!has(words, kXsave))
        return;
    const Leaf saving = leaf(13);
    std::uint64_t components = saving.a | std::uint64_t{saving.d} << 32;
    for (const auto& [component, feature] : kComponentFeatures)
        if (!has(words, feature))
            components &= ~(std::uint64_t{1} << component);
    entry.xfeatures_mask = components & kUserComponents;
    entry.xsave_size = saving.b;
    entry.xsave_size_max = saving.c;
}

const CpuinfoX86Entry& only(const CpuinfoEntry& entry) {
    if (entry.n_x86_entry != 1)
        fail("it is of another processor architecture ({} entries for x86)", entry.n_x86_entry);
    return *entry.x86_entry[0];
}

/// Reads the words of an image. Version 1 has fewer words; criu assumes that the missing words are equal to `here`.
Words wordsOf(const CpuinfoX86Entry& entry, const Words& here) {
    const std::size_t wanted = entry.capability_ver == 1 ? kWordsOfVersion1 : kWords;
    if (entry.capability_ver != 1 && entry.capability_ver != kVersion)
        fail("its capabilities are of version {}, which is unknown", entry.capability_ver);
    if (entry.n_capability != wanted)
        fail("it has {} words of capabilities instead of {}", entry.n_capability, wanted);
    Words words = here;
    std::copy(entry.capability, entry.capability + wanted, words.begin());
    return words;
}

template <std::size_t N>
void requireAll(const Words& there, const Words& here, const Feature (&features)[N], std::string_view what) {
    std::string missing;
    for (const Feature& feature : features)
        if (has(there, feature) && !has(here, feature))
            missing += fmt::format("{}{}", missing.empty() ? "" : ", ", feature.name);
    if (!missing.empty())
        fail("this processor lacks {} that the dumped tree's had: {}", what, missing);
}

}  // namespace

CpuinfoEntry* describeCpu(Arena& arena) {
    constexpr unsigned kExtendedFamily = 0xf;
    constexpr unsigned kExtendedModelFrom = 6;
    auto* const out = arena.make<CpuinfoEntry>();
    out->n_x86_entry = 1;
    out->x86_entry = arena.messages<CpuinfoX86Entry>(1);
    CpuinfoX86Entry& entry = *out->x86_entry[0];
    const std::string vendor = vendorName();
    if (vendor == "GenuineIntel")
        entry.vendor_id = CPUINFO_X86_ENTRY__VENDOR__INTEL;
    else if (vendor == "AuthenticAMD" || vendor == "HygonGenuine")
        entry.vendor_id = CPUINFO_X86_ENTRY__VENDOR__AMD;
    else
        fail("processors of {} aren't known", vendor);

    const unsigned signature = leaf(1).a;
    entry.stepping = signature & 0xf;
    entry.model = signature >> 4 & 0xf;
    entry.cpu_family = signature >> 8 & 0xf;
    if (entry.cpu_family == kExtendedFamily)
        entry.cpu_family += signature >> 20 & 0xff;
    if (entry.cpu_family >= kExtendedModelFrom)
        entry.model += (signature >> 16 & 0xf) << 4;

    const Words words = capabilities(entry.vendor_id, entry.cpu_family);
    entry.capability_ver = kVersion;
    entry.n_capability = words.size();
    entry.capability = arena.copy(std::span<const std::uint32_t>(words));
    describeState(words, entry);
    if (const std::string model = modelName(); !model.empty())
        entry.model_id = arena.string(model);
    return out;
}

void compareCpus(const CpuinfoEntry& there, const CpuinfoEntry& here, model::CpuCaps caps) {
    const CpuinfoX86Entry& old = only(there);
    const CpuinfoX86Entry& now = only(here);
    if (old.vendor_id != CPUINFO_X86_ENTRY__VENDOR__INTEL && old.vendor_id != CPUINFO_X86_ENTRY__VENDOR__AMD)
        fail("its vendor {} is unknown", static_cast<int>(old.vendor_id));
    const Words nowWords = wordsOf(now, Words{});
    const Words oldWords = wordsOf(old, nowWords);
    if (caps.has(model::CpuCap::Fpu)) {
        requireAll(oldWords, nowWords, kFloatingPoint, "means to keep floating point state");
        if (const std::uint64_t missing = old.xfeatures_mask & ~now.xfeatures_mask;
            old.has_xfeatures_mask != 0 && missing != 0)
            fail("this processor lacks state components {:#x} that the dumped tree's had", missing);
        // Compares the size of extended state, because libraries allocate frames of this size and save all enabled
        // components.
        if (old.has_xsave_size != 0 && old.xsave_size != now.xsave_size)
            fail("extended state takes {} bytes here, and took {} where the tree was dumped", now.xsave_size,
                 old.xsave_size);
    }
    if (caps.has(model::CpuCap::Ins))
        requireAll(oldWords, nowWords, kInstructions, "instructions");
    if (caps.has(model::CpuCap::Cpu))
        for (unsigned word = 0; word < kWords; ++word)
            if (oldWords[word] != nowWords[word])
                fail("this processor isn't the same: capabilities of word {} are {:#x}, and were {:#x}", word,
                     nowWords[word], oldWords[word]);
}

}  // namespace criu::task
