// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "proc.hpp"
#include "syscall_instruction.hpp"

namespace compel {

namespace {

struct Code {
    RemoteAddress start;
    RemoteAddress end;
    bool isVdso;
    bool isLibrary;    ///< true if the mapping has the name of a library that usually contains a restorer
    std::string name;  ///< name of a library; empty for other mappings
};

/// Search for system call instructions and a restorer in the code of one process.
class CodeSearch {
public:
    explicit CodeSearch(const RemoteMemory& memory) : memory_(memory) {}

    [[nodiscard]] std::optional<SyscallInstruction> withRestorer() const {
        if (returning_ == 0 || restorer_ == 0)
            return std::nullopt;
        return SyscallInstruction(returning_, restorer_);
    }
    [[nodiscard]] std::optional<SyscallInstruction> any() const {
        return any_ != 0 ? std::optional<SyscallInstruction>(any_) : std::nullopt;
    }

    /// Returns true if the instruction and the restorer are at the same places in `code` as in `library`, which becomes
    /// the result of the search.
    bool isAt(const Code& code, const LibraryCode& library) {
        std::array<std::byte, syscallReturnBytes.size()> returning{};
        std::array<std::byte, restorerBytes.size()> restorer{};
        if (code.name != library.name || code.end - code.start != library.size ||
            memory_.readSome(code.start + library.returning, returning) < returning.size() ||
            memory_.readSome(code.start + library.restorer, restorer) < restorer.size() ||
            returning != syscallReturnBytes || restorer != restorerBytes)
            return false;
        returning_ = code.start + library.returning;
        restorer_ = code.start + library.restorer;
        return true;
    }

    /// Returns the places of the result in `code`; nothing if one of them is in another mapping.
    [[nodiscard]] std::optional<LibraryCode> placeIn(const Code& code) const {
        const auto isIn = [&code](RemoteAddress at) { return code.start <= at && at < code.end; };
        if (code.name.empty() || !isIn(returning_) || !isIn(restorer_))
            return std::nullopt;
        return LibraryCode{code.name, code.end - code.start, returning_ - code.start, restorer_ - code.start};
    }

    /// Searches one mapping. Returns true if all addresses are found.
    bool lookForAll(const Code& code) {
        look(code, [this](RemoteAddress at, std::span<const std::byte> content) {
            note(returning_, at, content, syscallReturnBytes);
            note(restorer_, at, content, restorerBytes);
            return returning_ != 0 && restorer_ != 0;
        });
        return returning_ != 0 && restorer_ != 0;
    }
    bool lookForAny(const Code& code) {
        look(code, [this](RemoteAddress at, std::span<const std::byte> content) {
            note(any_, at, content, syscallInstructionBytes);
            return any_ != 0;
        });
        return any_ != 0;
    }

private:
    static void note(RemoteAddress& found, RemoteAddress start, std::span<const std::byte> content,
                     std::span<const std::byte> wanted) {
        if (found != 0)
            return;
        const void* const at = ::memmem(content.data(), content.size(), wanted.data(), wanted.size());
        if (at != nullptr)
            found = start + static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - content.data());
    }

    template <typename Look>
    void look(const Code& code, const Look& enough) {
        constexpr std::size_t blockSize = std::size_t{64} * 1024;
        // Number of bytes by which consecutive blocks overlap: the length of the longest pattern minus one. So the
        // search also finds patterns at the border of two blocks.
        constexpr std::size_t overlap = restorerBytes.size() - 1;
        std::vector<std::byte> block(std::min<std::size_t>(blockSize, code.end - code.start));
        for (RemoteAddress at = code.start; at + overlap < code.end; at += block.size() - overlap) {
            const auto window = std::span(block).first(std::min<std::size_t>(block.size(), code.end - at));
            const auto content = window.first(memory_.readSome(at, window));
            if (enough(at, content) || content.size() < window.size())
                return;
        }
    }

    const RemoteMemory& memory_;
    // Address of any system call instruction; 0 if not found. The members below are the addresses of an instruction
    // with a return instruction after it, and of a restorer.
    RemoteAddress any_ = 0;
    RemoteAddress returning_ = 0;
    RemoteAddress restorer_ = 0;
};

/// Number of bytes of code that a search reads at most.
constexpr std::uint64_t mostSearched = std::uint64_t{8} << 20;

bool isLibraryName(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("ld-") || name.starts_with("libc.so") || name.starts_with("libc-");
}

}  // namespace

std::optional<SyscallInstruction> findReturningInstruction(pid_t pid, MemoryBounds bounds) {
    const RemoteMemory memory(pid);
    std::vector<Code> all;
    visitMappings(pid, [&](const MemoryRange& range) {
        if (!range.executable || !range.readable || range.name == "[vsyscall]")
            return true;
        const auto add = [&](RemoteAddress start, RemoteAddress end) {
            if (start < end)
                all.push_back({start, end, range.name == "[vdso]", isLibraryName(range.name), {}});
        };
        const RemoteAddress start = std::max(range.start, bounds.start);
        const RemoteAddress end = std::min(range.end, bounds.end);
        if (bounds.end < bounds.start) {
            add(range.start, end);
            add(start, range.end);
        } else {
            add(start, end);
        }
        return true;
    });
    std::stable_partition(all.begin(), all.end(), [](const Code& code) { return code.isLibrary; });
    CodeSearch search(memory);
    std::uint64_t searched = 0;
    for (const Code& code : all) {
        searched += code.end - code.start;
        if (searched > mostSearched)
            break;
        if ((!code.isVdso || vdsoHasRestorer) && search.lookForAll(code))
            return search.withRestorer();
    }
    return std::nullopt;
}

std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid) {
    return findSyscallInstruction(pid, {}, nullptr);
}

std::optional<SyscallInstruction> findSyscallInstruction(pid_t pid, const std::function<void(std::string_view)>& visit,
                                                         KnownLibraries* known) {
    std::vector<Code> all;
    visitMappings(pid, [&](const MemoryRange& range) {
        if (visit)
            visit(range.name);
        if (range.executable && range.readable && range.name != "[vsyscall]") {
            const bool isLibrary = isLibraryName(range.name);
            all.push_back({range.start, range.end, range.name == "[vdso]", isLibrary,
                           isLibrary ? std::string(range.name) : std::string()});
        }
        return true;
    });
    std::stable_sort(all.begin(), all.end(), [](const Code& left, const Code& right) {
        if (vdsoHasRestorer && left.isVdso != right.isVdso)
            return left.isVdso;
        return left.isLibrary != right.isLibrary ? left.isLibrary : left.end - left.start < right.end - right.start;
    });
    const RemoteMemory memory(pid);
    CodeSearch search(memory);
    if (known != nullptr)
        for (const LibraryCode& library : *known)
            if (std::any_of(all.begin(), all.end(), [&](const Code& code) { return search.isAt(code, library); }))
                return search.withRestorer();
    std::uint64_t searched = 0;
    for (const Code& code : all) {
        searched += code.end - code.start;
        if (searched > mostSearched)
            break;
        if ((code.isVdso && !vdsoHasRestorer) || !search.lookForAll(code))
            continue;
        if (const auto place = search.placeIn(code); place && known != nullptr)
            known->push_back(*place);
        return search.withRestorer();
    }
    // Searches the vDSO first, because other processes can't unmap it.
    std::stable_partition(all.begin(), all.end(), [](const Code& code) { return code.isVdso; });
    CodeSearch further(memory);
    for (const Code& code : all)
        if (further.lookForAny(code))
            break;
    return further.any();
}

bool hasSyscallInstruction(pid_t pid, const SyscallInstruction& there) {
    const RemoteMemory memory(pid);
    const auto has = [&](RemoteAddress at, const auto& wanted) {
        auto found = wanted;
        return memory.readSome(at, found) == found.size() && found == wanted;
    };
    return there.restorer != 0 && has(there.address, syscallReturnBytes) && has(there.restorer, restorerBytes);
}

}  // namespace compel
