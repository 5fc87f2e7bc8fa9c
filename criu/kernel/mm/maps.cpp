// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/maps.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

/// Mnemonics of the kernel for each VmFlag, in the order of the enumeration.
constexpr std::string_view kMnemonics =
    "rd wr ex sh mr mw me ms gd pf dw lo io sr rr dc de lf ac nr ht sf nl ar wf dd sd mm hg nh mg mt um uw ui ss sl dp "
    "bt gu";
static_assert((kMnemonics.size() + 1) / 3 == static_cast<std::size_t>(VmFlag::Unknown));

constexpr std::size_t kLetters = 26;

constexpr std::size_t indexOf(char first, char second) noexcept {
    return static_cast<std::size_t>(first - 'a') * kLetters + static_cast<std::size_t>(second - 'a');
}

/// Returns a table with the flag for each pair of letters. criu uses a table because it is fast: smaps shows a dozen
/// flags for each mapping.
consteval std::array<VmFlag, kLetters * kLetters> flagsByLetters() {
    std::array<VmFlag, kLetters * kLetters> flags{};
    flags.fill(VmFlag::Unknown);
    for (std::size_t flag = 0; flag < static_cast<std::size_t>(VmFlag::Unknown); ++flag)
        flags[indexOf(kMnemonics[flag * 3], kMnemonics[flag * 3 + 1])] = static_cast<VmFlag>(flag);
    return flags;
}

VmFlag flagOf(std::string_view mnemonic) noexcept {
    static constexpr auto flags = flagsByLetters();
    const auto isLetter = [](char letter) { return letter >= 'a' && letter <= 'z'; };
    if (mnemonic.size() != 2 || !isLetter(mnemonic[0]) || !isLetter(mnemonic[1]))
        return VmFlag::Unknown;
    return flags[indexOf(mnemonic[0], mnemonic[1])];
}

VmFlags parseFlags(std::string_view text) noexcept {
    VmFlags flags;
    Scanner scan(text);
    for (std::string_view word = scan.word(); !word.empty(); word = scan.word())
        flags.set(flagOf(word));
    return flags;
}

/// Returns the field of Vma for a size line of smaps; nullptr for lines that criu doesn't use.
std::uint64_t Vma::*sizeField(std::string_view key) noexcept {
    if (key == "Rss")
        return &Vma::rss;
    if (key == "Swap")
        return &Vma::swap;
    if (key == "Locked")
        return &Vma::locked;
    if (key == "Anonymous")
        return &Vma::anonymous;
    if (key == "KernelPageSize")
        return &Vma::kernelPageSize;
    if (key == "Shared_Clean" || key == "Shared_Dirty")
        return &Vma::inCommon;
    return nullptr;
}

/// Reads and parses maps or smaps in pieces that consist of complete lines, because smaps of many mappings is large.
/// `pieceSize`: size of the read buffer in bytes; one read(2) returns about a page.
std::vector<Vma> readThrough(const ProcPid& process, const std::string& name, std::size_t pieceSize) {
    const UniqueFd file = process.open(name, O_RDONLY);
    const ErrorContext context([&] { return process.path() + '/' + name; });
    MapsParser parser;
    const auto piece = std::make_unique_for_overwrite<char[]>(pieceSize);
    std::size_t used = 0;
    for (;;) {
        if (used == pieceSize)
            fail("a line is longer than {} bytes", pieceSize);
        const ssize_t got = ::read(file.get(), piece.get() + used, pieceSize - used);
        if (got < 0 && errno == EINTR)
            continue;
        used += static_cast<std::size_t>(sys(got, "read"));
        const std::string_view text(piece.get(), used);
        if (got == 0) {
            parser.feed(text);
            return parser.take();
        }
        // rfind() returns npos if there is no newline, and npos + 1 is 0.
        const std::size_t whole = text.rfind('\n') + 1;
        parser.feed(text.substr(0, whole));
        used -= whole;
        std::memmove(piece.get(), piece.get() + whole, used);
    }
}

}  // namespace

void MapsParser::feed(std::string_view text) {
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        // A header line begins with an address in lower-case hex, and a field line with an upper-case letter.
        const char first = line.empty() ? '\0' : line.front();
        if ((first >= '0' && first <= '9') || (first >= 'a' && first <= 'f'))
            header(line);
        else
            field(line);
    }
}

void MapsParser::header(std::string_view line) {
    Vma vma;
    Scanner scan(line);
    scan.needNumber(vma.start, "start address", 16);
    scan.need('-', "a dash");
    scan.needNumber(vma.end, "end address", 16);
    if (vma.end < vma.start)
        fail("mapping ends at {:x}, before its start {:x}", vma.end, vma.start);
    const std::string_view mode = scan.word();
    if (mode.size() != 4)
        scan.expected("four letters of access rights before");
    vma.prot = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0) | (mode[2] == 'x' ? PROT_EXEC : 0);
    vma.shared = mode[3] == 's';
    scan.needNumber(vma.pgoff, "offset", 16);
    scan.needNumber(vma.devMajor, "major device number", 16);
    scan.need(':', "a colon");
    scan.needNumber(vma.devMinor, "minor device number", 16);
    scan.needNumber(vma.inode, "inode number");
    scan.blanks();
    if (!scan.done()) {
        const std::string_view name = scan.rest();
        vma.name = name.find('\\') == std::string_view::npos ? std::string(name) : decodeOctal(name, "\n");
        vma.deleted = vma.name.ends_with(kDeletedMark);
    }
    vmas_.push_back(std::move(vma));
}

void MapsParser::field(std::string_view line) {
    if (vmas_.empty())
        fail("a field before the first mapping: \"{}\"", line.substr(0, 40));
    Vma& vma = vmas_.back();
    Scanner scan(line);
    const std::string_view key = scan.until(':');
    scan.need(':', "a colon");
    if (key == "VmFlags")
        vma.flags = parseFlags(scan.rest());
    else if (std::uint64_t Vma::*const member = sizeField(key); member != nullptr)
        vma.*member += scan.needNumber<std::uint64_t>(key) * 1024;
}

std::vector<MappedFileSystem> parseMappedFileSystems(std::string_view text) {
    std::vector<MappedFileSystem> found;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        MappedFileSystem mapped;
        std::uint32_t major = 0;
        std::uint32_t minor = 0;
        Scanner scan(line);
        scan.needNumber(mapped.start, "start address", 16);
        scan.need('-', "a dash");
        scan.needNumber(mapped.end, "end address", 16);
        scan.word();  // skips the permissions
        scan.word();  // skips the offset
        scan.needNumber(major, "major device number", 16);
        scan.need(':', "a colon");
        scan.needNumber(minor, "minor device number", 16);
        mapped.device = makedev(major, minor);
        const auto same = [&](const MappedFileSystem& other) { return other.device == mapped.device; };
        // Searches backwards, because an entry of the same file is usually near the end: mappings of one file are
        // mostly adjacent.
        if (mapped.device != 0 && std::none_of(found.rbegin(), found.rend(), same))
            found.push_back(mapped);
    }
    return found;
}

std::vector<Vma> parseMaps(std::string_view text) {
    MapsParser parser;
    parser.feed(text);
    return parser.take();
}

std::vector<Vma> readMaps(const ProcPid& process) {
    // The buffer has room for the longest line: a path of one page in which each byte is escaped to four. It isn't
    // larger, because malloc() would then call mmap(2) each time.
    return readThrough(process, "maps", std::size_t{32} << 10);
}

bool isAnonymous(const Vma& vma) noexcept {
    return !vma.shared && vma.inode == 0 && vma.devMajor == 0 && vma.devMinor == 0 &&
           (vma.name.empty() || vma.name == "[heap]" || vma.name == "[stack]" || vma.name.starts_with("[anon:"));
}

std::vector<Vma> readSmaps(const ProcPid& process) {
    return readThrough(process, "smaps", std::size_t{128} << 10);
}

}  // namespace criu::kernel
