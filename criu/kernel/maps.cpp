// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/maps.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "criu/kernel/scan.hpp"

namespace criu::kernel {

namespace {

constexpr std::uint16_t twoLetters(char first, char second) noexcept {
    return static_cast<std::uint16_t>((static_cast<unsigned char>(first) << 8) | static_cast<unsigned char>(second));
}

VmFlag flagOf(char first, char second) noexcept {
    switch (twoLetters(first, second)) {
        case twoLetters('r', 'd'):
            return VmFlag::Read;
        case twoLetters('w', 'r'):
            return VmFlag::Write;
        case twoLetters('e', 'x'):
            return VmFlag::Exec;
        case twoLetters('s', 'h'):
            return VmFlag::Shared;
        case twoLetters('m', 'r'):
            return VmFlag::MayRead;
        case twoLetters('m', 'w'):
            return VmFlag::MayWrite;
        case twoLetters('m', 'e'):
            return VmFlag::MayExec;
        case twoLetters('m', 's'):
            return VmFlag::MayShare;
        case twoLetters('g', 'd'):
            return VmFlag::GrowsDown;
        case twoLetters('p', 'f'):
            return VmFlag::PfnMap;
        case twoLetters('d', 'w'):
            return VmFlag::DenyWrite;
        case twoLetters('l', 'o'):
            return VmFlag::Locked;
        case twoLetters('i', 'o'):
            return VmFlag::Io;
        case twoLetters('s', 'r'):
            return VmFlag::SequentialRead;
        case twoLetters('r', 'r'):
            return VmFlag::RandomRead;
        case twoLetters('d', 'c'):
            return VmFlag::DontCopy;
        case twoLetters('d', 'e'):
            return VmFlag::DontExpand;
        case twoLetters('l', 'f'):
            return VmFlag::LockOnFault;
        case twoLetters('a', 'c'):
            return VmFlag::Accountable;
        case twoLetters('n', 'r'):
            return VmFlag::NoReserve;
        case twoLetters('h', 't'):
            return VmFlag::HugeTlb;
        case twoLetters('s', 'f'):
            return VmFlag::Sync;
        case twoLetters('n', 'l'):
            return VmFlag::NonLinear;
        case twoLetters('a', 'r'):
            return VmFlag::ArchSpecific;
        case twoLetters('w', 'f'):
            return VmFlag::WipeOnFork;
        case twoLetters('d', 'd'):
            return VmFlag::DontDump;
        case twoLetters('s', 'd'):
            return VmFlag::SoftDirty;
        case twoLetters('m', 'm'):
            return VmFlag::MixedMap;
        case twoLetters('h', 'g'):
            return VmFlag::HugePage;
        case twoLetters('n', 'h'):
            return VmFlag::NoHugePage;
        case twoLetters('m', 'g'):
            return VmFlag::Mergeable;
        case twoLetters('m', 't'):
            return VmFlag::MemoryTagging;
        case twoLetters('u', 'm'):
            return VmFlag::UffdMissing;
        case twoLetters('u', 'w'):
            return VmFlag::UffdWriteProtect;
        case twoLetters('u', 'i'):
            return VmFlag::UffdMinor;
        case twoLetters('s', 's'):
            return VmFlag::ShadowStack;
        case twoLetters('s', 'l'):
            return VmFlag::Sealed;
        case twoLetters('d', 'p'):
            return VmFlag::Droppable;
        case twoLetters('b', 't'):
            return VmFlag::GuardedControl;
        case twoLetters('g', 'u'):
            return VmFlag::MayHaveGuard;
        default:
            return VmFlag::Unknown;
    }
}

VmFlags parseFlags(std::string_view text) noexcept {
    VmFlags flags;
    Scanner scan(text);
    for (std::string_view word = scan.word(); !word.empty(); word = scan.word())
        flags.set(word.size() == 2 ? flagOf(word[0], word[1]) : VmFlag::Unknown);
    return flags;
}

/// Where a size field of smaps goes; null for those not kept. The length tells most of them apart.
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
    return nullptr;
}

/// Reads in big pieces and hands on whole lines: smaps of a process with very many mappings is never held as a whole.
std::vector<Vma> readThrough(const ProcPid& process, const std::string& name) {
    const UniqueFd file = process.open(name, O_RDONLY);
    return inContext([&] { return process.path() + '/' + name; },
                     [&] {
                         MapsParser parser;
                         constexpr std::size_t pieceSize = 128 * 1024;
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
                             const std::size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
                             parser.feed(text.substr(0, whole));
                             used -= whole;
                             std::memmove(piece.get(), piece.get() + whole, used);
                         }
                     });
}

}  // namespace

void MapsParser::feed(std::string_view text) {
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        // Headers start with an address in lower-case hex, fields with an upper-case letter.
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
        vma.deleted = vma.name.ends_with(" (deleted)");
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
        vma.*member = scan.needNumber<std::uint64_t>(key) * 1024;
}

std::vector<Vma> parseMaps(std::string_view text) {
    MapsParser parser;
    parser.feed(text);
    return parser.take();
}

std::vector<Vma> readMaps(const ProcPid& process) {
    return readThrough(process, "maps");
}

std::vector<Vma> readSmaps(const ProcPid& process) {
    return readThrough(process, "smaps");
}

}  // namespace criu::kernel
