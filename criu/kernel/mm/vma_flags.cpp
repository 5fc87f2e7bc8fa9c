// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/vma_flags.hpp"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/kernel/mm/btf.hpp"
#include "criu/kernel/mm/userfaultfd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {
namespace {

int call(bpf_cmd command, bpf_attr& attributes) {
    return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof(attributes)));
}

std::uint64_t address(const void* at) {
    return reinterpret_cast<std::uintptr_t>(at);
}

std::uint32_t required(std::optional<std::uint32_t> found, const char* what) {
    if (!found)
        failWith(ENOSYS, "find {} among the types of the kernel", what);
    return *found;
}

bpf_insn instruction(unsigned code, unsigned target, unsigned source, int offset, int value) {
    bpf_insn made{};
    made.code = static_cast<std::uint8_t>(code);
    made.dst_reg = target & 0xf;
    made.src_reg = source & 0xf;
    made.off = static_cast<std::int16_t>(offset);
    made.imm = value;
    return made;
}

bpf_insn load(unsigned target, unsigned from, std::uint32_t offset) {
    return instruction(BPF_LDX | BPF_MEM | BPF_DW, target, from, static_cast<int>(offset), 0);
}
bpf_insn store(int offset, unsigned from) {
    return instruction(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, from, offset, 0);
}
bpf_insn copy(unsigned target, unsigned from) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_X, target, from, 0, 0);
}
bpf_insn set(unsigned target, int value) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_K, target, 0, 0, value);
}

/// Loads a program that the kernel calls for each mapping of a thread. The program writes a RawVma to the file of the
/// iterator.
UniqueFd loadProgram() {
    const Btf types = Btf::ofKernel();
    const auto offset = [&](const char* structure, const char* member) {
        return required(types.offsetOf(structure, member), member);
    };
    constexpr int kRecord = -static_cast<int>(sizeof(RawVma));
    constexpr std::uint32_t kWords[] = {0, 8, 16};
    const std::vector<bpf_insn> body = {
        load(BPF_REG_2, BPF_REG_7, offset("vm_area_struct", "vm_start")),
        store(kRecord + static_cast<int>(kWords[0]), BPF_REG_2),
        load(BPF_REG_2, BPF_REG_7, offset("vm_area_struct", "vm_end")),
        store(kRecord + static_cast<int>(kWords[1]), BPF_REG_2),
        load(BPF_REG_2, BPF_REG_7, offset("vm_area_struct", "vm_flags")),
        store(kRecord + static_cast<int>(kWords[2]), BPF_REG_2),
        load(BPF_REG_1, BPF_REG_6, offset("bpf_iter__task_vma", "meta")),
        load(BPF_REG_1, BPF_REG_1, offset("bpf_iter_meta", "seq")),
        copy(BPF_REG_2, BPF_REG_10),
        instruction(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, kRecord),
        set(BPF_REG_3, sizeof(RawVma)),
        instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_seq_write),
    };
    std::vector<bpf_insn> code = {
        copy(BPF_REG_6, BPF_REG_1),
        load(BPF_REG_7, BPF_REG_6, offset("bpf_iter__task_vma", "vma")),
        // At the end of the list, the kernel calls the program without a mapping.
        instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_7, 0, static_cast<int>(body.size()), 0),
    };
    code.insert(code.end(), body.begin(), body.end());
    code.push_back(set(BPF_REG_0, 0));
    code.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));

    bpf_attr args;
    std::memset(&args, 0, sizeof(args));
    args.prog_type = BPF_PROG_TYPE_TRACING;
    args.expected_attach_type = BPF_TRACE_ITER;
    args.attach_btf_id = required(types.functionId("bpf_iter_task_vma"), "the iterator of mappings");
    args.insns = address(code.data());
    args.insn_cnt = static_cast<std::uint32_t>(code.size());
    args.license = address("GPL");
    std::strcpy(args.prog_name, "criu_mappings");
    return UniqueFd(sys(call(BPF_PROG_LOAD, args), "load the BPF program that lists mappings"));
}

/// Mappings of the calling process with one property each, from which the bits of vm_flags are learned. A mapping that
/// the kernel refuses is left out: its property can't occur.
class SampleMappings {
public:
    SampleMappings() : room_(Mapping::anonymous(2 * kCount * machinePageSize())) {
        constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
        constexpr int kReadWrite = PROT_READ | PROT_WRITE;
        sys(::mprotect(room_.data(), room_.size(), PROT_NONE), "protect memory");
        for (const int access : {PROT_NONE, PROT_READ, kReadWrite, PROT_READ | PROT_EXEC})
            (void)map(access, kAnonymous);
        (void)map(kReadWrite, MAP_SHARED | MAP_ANONYMOUS);
        (void)map(kReadWrite, kAnonymous | MAP_NORESERVE);
        (void)map(kReadWrite, kAnonymous | MAP_GROWSDOWN);
        if (const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)); file) {
            (void)map(PROT_READ, MAP_SHARED, file.get());
            (void)map(PROT_READ, MAP_PRIVATE, file.get());
        }
        for (const int advice : {MADV_DONTFORK, MADV_DONTDUMP, MADV_MERGEABLE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
                                 MADV_WIPEONFORK, MADV_SEQUENTIAL, MADV_RANDOM})
            if (void* const at = map(kReadWrite, kAnonymous); at != MAP_FAILED)
                ::madvise(at, machinePageSize(), advice);
        userfaultfd_ = UniqueFd(static_cast<int>(::syscall(SYS_userfaultfd, uffdWpFlags())));
        if (void* const at = map(kReadWrite, kAnonymous);
            at != MAP_FAILED && userfaultfd_ && enableUffdWpAsync(userfaultfd_.get()))
            (void)registerUffdWp(userfaultfd_.get(), address(at), machinePageSize());
    }

private:
    static constexpr std::size_t kCount = 24;

    /// Maps one page. The page after it stays reserved, so that the kernel doesn't merge two mappings.
    void* map(int access, int flags, int file = -1) {
        void* const at = static_cast<char*>(room_.data()) + 2 * used_++ * machinePageSize();
        return ::mmap(at, machinePageSize(), access, flags | MAP_FIXED, file, 0);
    }

    Mapping room_;
    std::size_t used_ = 0;
    UniqueFd userfaultfd_;
};

}  // namespace

VmaFlagBits::VmaFlagBits(std::span<const Sample> samples) {
    constexpr unsigned kBits = 64;
    constexpr auto kFlags = static_cast<unsigned>(VmFlag::Unknown);
    const auto patternOf = [&](auto&& isSet) {
        std::vector<bool> pattern;
        for (const Sample& sample : samples)
            pattern.push_back(isSet(sample));
        return pattern;
    };
    const auto isNever = [](const std::vector<bool>& pattern) {
        return std::find(pattern.begin(), pattern.end(), true) == pattern.end();
    };
    std::vector<std::vector<bool>> patterns;
    for (unsigned bit = 0; bit < kBits; ++bit) {
        const std::uint64_t mask = std::uint64_t{1} << bit;
        const auto pattern = patternOf([mask](const Sample& sample) { return (sample.first & mask) != 0; });
        if (isNever(pattern))
            continue;
        const auto found = std::find(patterns.begin(), patterns.end(), pattern);
        if (found == patterns.end()) {
            patterns.push_back(pattern);
            groups_.push_back({mask, {}});
        } else {
            groups_[static_cast<std::size_t>(found - patterns.begin())].bits |= mask;
        }
    }
    for (unsigned number = 0; number < kFlags; ++number) {
        const auto flag = static_cast<VmFlag>(number);
        const auto pattern = patternOf([flag](const Sample& sample) { return sample.second.has(flag); });
        if (isNever(pattern))
            continue;
        const auto found = std::find(patterns.begin(), patterns.end(), pattern);
        if (found == patterns.end())
            fail("flag {} of smaps has no bit in the kernel's flags of mappings", number);
        groups_[static_cast<std::size_t>(found - patterns.begin())].flags.set(flag);
    }
    if (std::any_of(samples.begin(), samples.end(),
                    [](const Sample& sample) { return sample.second.has(VmFlag::Unknown); }))
        fail("smaps has a flag that criu doesn't know");
}

std::optional<VmFlags> VmaFlagBits::decode(std::uint64_t raw) const {
    VmFlags flags;
    for (const Group& group : groups_) {
        const std::uint64_t here = raw & group.bits;
        raw &= ~group.bits;
        if (here == 0)
            continue;
        if (here != group.bits)
            return std::nullopt;
        flags.add(group.flags);
    }
    return raw == 0 ? std::optional(flags) : std::nullopt;
}

VmaFlagReader::VmaFlagReader() : program_(loadProgram()) {
    bits_.emplace(samples());
}

std::vector<VmaFlagBits::Sample> VmaFlagReader::samples() const {
    const SampleMappings mappings;
    const std::vector<Vma> smaps = readSmaps(ProcDir().open(::getpid()));
    std::vector<VmaFlagBits::Sample> found;
    auto raw = read(::gettid());
    auto next = raw.begin();
    for (const Vma& vma : smaps) {
        next = std::find_if(next, raw.end(), [&](const RawVma& each) { return each.start >= vma.start; });
        if (next != raw.end() && next->start == vma.start && next->end == vma.end)
            found.emplace_back(next->flags, vma.flags);
    }
    return found;
}

std::vector<RawVma> VmaFlagReader::read(pid_t thread) const {
    bpf_iter_link_info which{};
    which.task.tid = static_cast<std::uint32_t>(thread);
    bpf_attr args;
    std::memset(&args, 0, sizeof(args));
    args.link_create.prog_fd = static_cast<std::uint32_t>(program_.get());
    args.link_create.attach_type = BPF_TRACE_ITER;
    args.link_create.iter_info = address(&which);
    args.link_create.iter_info_len = sizeof(which);
    const UniqueFd link(sys(call(BPF_LINK_CREATE, args), "choose thread {} for the list of mappings", thread));
    std::memset(&args, 0, sizeof(args));
    args.iter_create.link_fd = static_cast<std::uint32_t>(link.get());
    const UniqueFd file(sys(call(BPF_ITER_CREATE, args), "open the list of mappings of thread {}", thread));
    std::vector<RawVma> all;
    std::array<RawVma, 1024> piece;
    std::size_t used = 0;  // bytes in `piece`
    for (;;) {
        const ssize_t got = ::read(file.get(), reinterpret_cast<char*>(piece.data()) + used, sizeof(piece) - used);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        used += static_cast<std::size_t>(sys(got, "read the list of mappings of thread {}", thread));
        const std::size_t whole = used / sizeof(RawVma);
        for (const RawVma& vma : std::span(piece).first(whole)) {
            // After the end of a long list of one thread, the kernel shows the last mappings again instead of an end
            // (task_vma_seq_get_next(), kernel/bpf/task_iter.c, Linux 6.18).
            if (!all.empty() && vma.start < all.back().end)
                return all;
            all.push_back(vma);
        }
        used -= whole * sizeof(RawVma);
        if (used != 0)
            std::memmove(piece.data(), piece.data() + whole, used);
        if (got == 0)
            return all;
    }
}

bool VmaFlagReader::addFlags(pid_t thread, std::span<Vma> vmas) const {
    const std::vector<RawVma> raw = read(thread);
    auto next = raw.begin();
    for (Vma& vma : vmas) {
        // The kernel's list lacks this area, because it belongs to no process.
        if (vma.name == "[vsyscall]") {
            vma.flags = {VmFlag::Exec};
            vma.kernelPageSize = machinePageSize();
            continue;
        }
        if (next == raw.end() || next->start != vma.start || next->end != vma.end)
            return false;
        const auto flags = bits_->decode(next->flags);
        if (!flags || flags->has(VmFlag::HugeTlb))
            return false;
        vma.flags = *flags;
        vma.kernelPageSize = machinePageSize();
        ++next;
    }
    return true;
}

}  // namespace criu::kernel
