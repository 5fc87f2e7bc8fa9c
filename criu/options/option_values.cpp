// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/option_values.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/ranges.h>

#include "criu/base/loss.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/page_codec.hpp"

namespace criu::options {
namespace {

using namespace model;

template <typename Value>
struct Word {
    std::string_view text;
    Value value;
};

/// Returns the value of a word. Throws Error if `words` doesn't contain the word.
template <typename Words>
auto oneOf(std::string_view text, const Words& words, std::string_view what) {
    for (const auto& word : words)
        if (word.text == text)
            return word.value;
    std::vector<std::string_view> allowed;
    for (const auto& word : words)
        allowed.push_back(word.text);
    fail("unknown {} '{}', use one of: {}", what, text, fmt::join(allowed, ", "));
}

struct ExternalWord {
    std::string_view text;
    ExternalType type;
    bool built;
};

constexpr ExternalWord kExternalWords[] = {
    {"mnt", ExternalType::Mount, true},     {"dev", ExternalType::Device, true},
    {"file", ExternalType::File, true},     {"pipe", ExternalType::Pipe, true},
    {"tty", ExternalType::Tty, true},       {"unix", ExternalType::Unix, true},
    {"net", ExternalType::Net, true},       {"pid", ExternalType::Pid, true},
    {"veth", ExternalType::Veth, true},     {"macvlan", ExternalType::Macvlan, true},
    {"netdev", ExternalType::Netdev, true},
};

/// Parts of "WORD[INSIDE]REST". INSIDE ends at the first "]:", or at the last character if the text has no "]:". So
/// INSIDE may be a path that contains brackets.
struct Bracketed {
    std::string_view word;
    std::string_view inside;
    std::string_view rest;
};

Bracketed splitBrackets(std::string_view text, std::string_view form) {
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos || open == 0)
        fail("'{}' is not of the form {}", text, form);
    std::size_t close = text.find("]:", open);
    if (close == std::string_view::npos) {
        if (text.back() != ']')
            fail("'{}' is not of the form {}", text, form);
        close = text.size() - 1;
    } else if (text.find("]:", close + 1) != std::string_view::npos) {
        // A container may have chosen a part of the text, and so the place where it divides (CVE-2026-119101).
        Error error(0, fmt::format("'{}' is ambiguous: it has several \"]:\"", text));
        error.addHint("requests name a mount without ambiguity in the field ext_mnt");
        throw error;
    }
    return {text.substr(0, open), text.substr(open + 1, close - open - 1), text.substr(close + 1)};
}

}  // namespace

std::int64_t parseNumber(std::string_view text, std::int64_t least, std::int64_t most) {
    std::int64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem == std::errc::invalid_argument || end != text.data() + text.size())
        fail("'{}' is not a number", text);
    if (problem == std::errc::result_out_of_range || number < least || number > most)
        fail("{} is out of range, use {} to {}", text, least, most);
    return number;
}

std::uint64_t parseSize(std::string_view text) {
    unsigned shift = 0;
    std::string_view digits = text;
    if (!digits.empty()) {
        switch (digits.back()) {
            case 'k':
            case 'K':
                shift = 10;
                break;
            case 'm':
            case 'M':
                shift = 20;
                break;
            case 'g':
            case 'G':
                shift = 30;
                break;
            default:
                break;
        }
        if (shift != 0)
            digits.remove_suffix(1);
    }
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (problem == std::errc::invalid_argument || end != digits.data() + digits.size())
        fail("'{}' is not a size, use a number of bytes, or one followed by K, M or G", text);
    if (problem == std::errc::result_out_of_range || number > (std::numeric_limits<std::uint64_t>::max() >> shift))
        fail("size {} is too large", text);
    return number << shift;
}

LogLevel parseVerbosity(std::optional<std::string_view> text, LogLevel present) {
    constexpr int most = static_cast<int>(LogLevel::Debug);
    int level = 0;
    if (!text || (!text->empty() && text->find_first_not_of('v') == std::string_view::npos)) {
        const std::size_t more = text ? text->size() + 1 : 1;
        level = static_cast<int>(present) + static_cast<int>(std::min<std::size_t>(more, most));
    } else {
        // CRIU accepts "-verbosity=0", with one dash missing, as a level.
        std::string_view digits = *text;
        if (digits.starts_with("erbosity="))
            digits.remove_prefix(digits.find('=') + 1);
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
        if (problem == std::errc::result_out_of_range)
            level = digits.starts_with('-') ? 0 : most;
        else if (!digits.empty() && (problem != std::errc{} || end != digits.data() + digits.size()))
            fail(
                "'{}' is not a level of messages: use -v0 to -v4, or -v, -vv ...; other letters are options of their "
                "own (-v -{})",
                *text, *text);
    }
    return static_cast<LogLevel>(std::clamp(level, 0, most));
}

CpuCaps parseCpuCaps(std::string_view text, CpuCaps caps) {
    constexpr CpuCaps every{CpuCap::Fpu, CpuCap::Cpu, CpuCap::Ins};
    constexpr Word<CpuCaps> words[] = {
        {"fpu", {CpuCap::Fpu}}, {"cpu", {CpuCap::Cpu}}, {"ins", {CpuCap::Ins}}, {"all", every}, {"none", {}}};

    for (const std::string& item : parseList(text)) {
        std::string_view word = item;
        const bool take = word.starts_with('^');
        if (take)
            word.remove_prefix(1);
        const CpuCaps named = oneOf(word, words, "processor capability");
        if (word == "none")
            caps = take ? every : CpuCaps{};
        else if (take)
            caps.clear(named);
        else
            caps.set(named);
    }
    caps.clear({CpuCap::Image});
    if (caps != CpuCaps{})
        caps.set({CpuCap::Image});
    return caps;
}

CgroupMode parseCgroupMode(std::string_view text) {
    constexpr Word<CgroupMode> words[] = {{"none", CgroupMode::None},     {"props", CgroupMode::Props},
                                          {"soft", CgroupMode::Soft},     {"full", CgroupMode::Full},
                                          {"strict", CgroupMode::Strict}, {"ignore", CgroupMode::Ignore}};
    return oneOf(text, words, "cgroup mode");
}

NetworkLock parseNetworkLock(std::string_view text) {
    constexpr Word<NetworkLock> words[] = {{"iptables", NetworkLock::Iptables},
                                           {"nftables", NetworkLock::Nftables},
                                           {"skip", NetworkLock::Skip},
                                           {"none", NetworkLock::Skip}};
    return oneOf(text, words, "network lock method");
}

PreDumpMode parsePreDumpMode(std::string_view text) {
    constexpr Word<PreDumpMode> words[] = {{"splice", PreDumpMode::Splice}, {"read", PreDumpMode::Read}};
    return oneOf(text, words, "pre-dump mode");
}

model::PageCodec parsePageCodec(std::string_view text) {
    Word<model::PageCodec> words[std::size(model::kPageCodecs)];
    std::transform(std::begin(model::kPageCodecs), std::end(model::kPageCodecs), std::begin(words),
                   [](const model::PageCodecInfo& info) {
                       return Word<model::PageCodec>{info.name, info.codec};
                   });
    return oneOf(text, words, "compression");
}

std::uint64_t parseCompressBlock(std::string_view text) {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kMost = std::uint64_t{4} << 20;     // limit of CRIU 4.3
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;  // larger blocks don't improve compression
    const std::uint64_t size = parseSize(text);
    if (size == 0 || size % kPage != 0 || size > kMost)
        fail("{} isn't a multiple of 4K up to 4M", text);
    return std::min(size, kLargest);
}

ImageIo parseImageIo(std::string_view text) {
    constexpr Word<ImageIo> words[] = {{"writeback", ImageIo::Writeback}, {"direct", ImageIo::Direct}};
    return oneOf(text, words, "image I/O mode");
}

FileValidation parseFileValidation(std::string_view text) {
    constexpr Word<FileValidation> words[] = {{"filesize", FileValidation::FileSize},
                                              {"buildid", FileValidation::BuildId}};
    return oneOf(text, words, "file validation method");
}

LsmProfile parseLsmProfile(std::string_view text) {
    constexpr Word<LsmKind> words[] = {
        {"apparmor", LsmKind::Apparmor}, {"selinux", LsmKind::Selinux}, {"none", LsmKind::None}};
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        fail("'{}' is not of the form TYPE:PROFILE", text);
    return {oneOf(text.substr(0, colon), words, "security module"), std::string(text.substr(colon + 1))};
}

JoinNs parseJoinNs(std::string_view text) {
    const auto [kind, rest] = splitPair(text, ':', "NS:PID or NS:FILE");
    const std::string_view target = rest;
    const std::size_t comma = target.find(',');
    if (comma == std::string_view::npos)
        return makeJoinNs(kind, target, {});
    return makeJoinNs(kind, target.substr(0, comma), target.substr(comma + 1));
}

JoinNs makeJoinNs(std::string_view kind, std::string_view target, std::optional<std::string_view> ids) {
    using Kind = kernel::NamespaceKind;
    constexpr Word<Kind> words[] = {{"ipc", Kind::Ipc},   {"net", Kind::Net}, {"time", Kind::Time},
                                    {"user", Kind::User}, {"uts", Kind::Uts}, {"mnt", Kind::Mount}};
    JoinNs join{oneOf(kind, words, "namespace"), std::string(target), {}, {}};
    if (ids) {
        if (join.kind != kernel::NamespaceKind::User)
            fail("'{}:{},{}': only user takes ids behind the comma", kind, target, *ids);
        constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
        const auto [uid, gid] = splitPair(*ids, ',', "UID,GID");
        join.uid = static_cast<uid_t>(parseNumber(uid, 0, most));
        join.gid = static_cast<gid_t>(parseNumber(gid, 0, most));
    }
    if (target.empty())
        fail("'{}:' names no process or file", kind);
    return join;
}

namespace {

/// Parses ADDRESS or ADDRESS/BITS.
void parsePrefix(std::string_view text, int& family, std::array<std::uint32_t, 4>& words, unsigned& bits) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const std::string address(text.substr(0, slash));
    family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
    if (::inet_pton(family, address.c_str(), words.data()) != 1)
        fail("'{}' is no IP address", address);
    const int most = family == AF_INET ? 32 : 128;
    bits = static_cast<unsigned>(slash == text.size() ? most : parseNumber(text.substr(slash + 1), 0, most));
}

}  // namespace

InetMapping parseInetMapping(std::string_view text) {
    const auto [from, to] = splitPair(text, '=', "OLD=NEW");
    InetMapping mapping;
    int family = 0;
    unsigned bits = 0;
    parsePrefix(from, mapping.family, mapping.from, mapping.bits);
    parsePrefix(to, family, mapping.to, bits);
    if (family != mapping.family)
        fail("'{}': one address is of IPv4, the other of IPv6", text);
    if (bits != mapping.bits)
        fail("'{}': the prefixes have {} and {} bits", text, mapping.bits, bits);
    return mapping;
}

LossSet parseLoss(std::string_view text) {
    if (text == "all")
        return LossSet().set();
    std::vector<std::string_view> names;
    for (const LossKind& kind : kLossKinds) {
        if (kind.name == text)
            return LossSet().set(static_cast<std::size_t>(kind.kind));
        names.push_back(kind.name);
    }
    fail("unknown kind of loss '{}', use one of: all, {}", text, fmt::join(names, ", "));
}

IdRange parseIdRange(std::string_view text) {
    constexpr std::int64_t kMost = 0xfffffffe;  // the number above means "no id" (chown(2))
    const auto [from, to] = splitPair(text, '-', "FROM-TO");
    const std::int64_t first = parseNumber(from, 1, kMost);
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(parseNumber(to, first, kMost))};
}

CgroupRoot parseCgroupRoot(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return {{}, std::string(text)};
    const auto [controller, path] = splitPair(text, ':', "CONTROLLER:PATH");
    return {controller, path};
}

External parseExternal(std::string_view text) {
    Bracketed parts = splitBrackets(text, "TYPE[ID] or TYPE[ID]:VALUE");
    if (parts.word == "pipe:")  // accepts "pipe:[INODE]", the form of /proc/PID/fd and --inherit-fd
        parts.word.remove_suffix(1);
    for (const ExternalWord& word : kExternalWords) {
        if (word.text != parts.word)
            continue;
        if (!word.built)
            fail("external resources of type {} are not supported by this build yet", word.text);
        External external{word.type, std::string(parts.inside), {}};
        if (!parts.rest.empty())
            external.value = parts.rest.substr(1);
        return external;
    }
    std::vector<std::string_view> allowed;
    for (const ExternalWord& word : kExternalWords)
        allowed.push_back(word.text);
    fail("unknown type '{}' of external resource, use one of: {}", parts.word, fmt::join(allowed, ", "));
}

void addExternal(std::string_view text, Options& options) {
    // LXC 5 repeats the value of its last option here if the network of a container has no devices: --lsm-profile, or
    // else --ext-mount-map. CRIU 4.2 accepts any text.
    if (text.starts_with("apparmor:") || text.starts_with("selinux:") || text.starts_with("console:"))
        return;
    options.externals.push_back(parseExternal(text));
}

void parseInheritFd(std::string_view text, Options& options) {
    constexpr std::string_view form = "fd[NUMBER]:NAME";
    const std::size_t open = text.find('[');
    const std::size_t close = text.find("]:");
    const std::string_view word = text.substr(0, open);
    if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
        (word != "fd" && word != "debug"))
        fail("'{}' is not of the form {}", text, form);

    const auto fd = static_cast<int>(parseNumber(text.substr(open + 1, close - open - 1), 0, 1 << 30));
    const std::string name(text.substr(close + 2));
    if (word == "debug") {
        options.inheritMarks.push_back({fd, name});
        return;
    }
    if (name.empty())
        fail("'{}' names no file, use {}", text, form);
    addInheritFd({fd, name}, options);
}

void addInheritFd(InheritFd inherit, Options& options) {
    if (inherit.name.empty())
        fail("descriptor {} has no name of a file", inherit.fd);
    if (inherit.name.front() == '/')  // a path, whose name in images and requests has no slash at its beginning
        inherit.name.erase(0, 1);
    for (const InheritFd& known : options.inheritFds)
        if (known.name == inherit.name)
            fail("'{}' is given twice, as descriptor {} and {}", inherit.name, known.fd, inherit.fd);
    options.inheritFds.push_back(std::move(inherit));
}

void parseExtMount(std::string_view text, Options& options) {
    if (text == "auto") {
        options.autoExtMounts = true;
        return;
    }
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0)
        fail("'{}' is not of the form KEY:VALUE or auto", text);
    // Accepts an empty value, because LXC passes "console:" for a container without a console.
    options.extMounts.push_back({std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))});
}

std::vector<std::uint32_t> parseInodes(std::string_view text) {
    std::vector<std::uint32_t> inodes;
    for (const std::string& item : parseList(text))
        inodes.push_back(static_cast<std::uint32_t>(parseNumber(item, 1, std::numeric_limits<std::uint32_t>::max())));
    return inodes;
}

std::vector<std::string> parseList(std::string_view text) {
    std::vector<std::string> items;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        if (comma != 0)
            items.emplace_back(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return items;
}

std::pair<std::string, std::string> splitPair(std::string_view text, char separator, std::string_view form) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos || at == 0 || at + 1 == text.size())
        fail("'{}' is not of the form {}", text, form);
    return {std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

}  // namespace criu::options
